import { isDomainError } from '@parley/kernel/errors';
import test from 'ava';
import { ada, agentApp, everyFieldInput, inTenant } from './agent-app.ts';

test('an agent with only the required fields gets the defaults', async (t) => {
  const { app } = await agentApp(t);
  const agent = await app.createAgent(inTenant(1), ada);

  t.like(agent, {
    ...ada,
    useCase: 'INTERVIEW',
    voiceTier: 'STANDARD',
    vadThreshold: 0.5,
    status: 'ACTIVE',
    avatarBackend: 'CLIENT_3D',
    subject: null,
    openingGreeting: null,
    workflowId: null,
    speakingRate: null,
    evaluationRecommendationLabels: null,
    llmProviderOverride: null,
    avatarBackendConfig: null,
  });
});

test('createAgent treats null like a field that is left out', async (t) => {
  const { app } = await agentApp(t);
  const agent = await app.createAgent(inTenant(1), { ...ada, useCase: null, vadThreshold: null, avatarBackend: null });
  t.like(agent, { useCase: 'INTERVIEW', vadThreshold: 0.5, avatarBackend: 'CLIENT_3D' });
});

test('every field is stored as given', async (t) => {
  const { app } = await agentApp(t);
  const { id } = await app.createAgent(inTenant(1), everyFieldInput());
  t.like(await app.findAgent(inTenant(1), id), everyFieldInput());
});

test('an empty list of labels is stored as such', async (t) => {
  const { app } = await agentApp(t);
  const { id } = await app.createAgent(inTenant(1), { ...ada, evaluationRecommendationLabels: [] });
  t.deepEqual((await app.findAgent(inTenant(1), id))?.evaluationRecommendationLabels, []);
});

test('values at the limits are accepted', async (t) => {
  const { app } = await agentApp(t);
  const emoji = '😀';
  for (const input of [
    { speakingRate: 0.25, vadThreshold: 0 },
    { speakingRate: 4, vadThreshold: 1 },
    { name: emoji.repeat(200), openingGreeting: emoji.repeat(4_000), personaPrompt: emoji.repeat(20_000) },
    { externalSyncUrl: 'http://localhost:8080' },
  ]) {
    t.like(await app.createAgent(inTenant(1), { ...ada, ...input }), input);
  }
});

const refused: [string, Record<string, unknown>, string][] = [
  ...[
    'http://127.0.0.1/x',
    'http://[::1]/',
    'http://169.254.169.254/latest',
    'http://0x7f.1/',
    'http://2130706433/',
    'https://example.com:22/',
    'https://@example.com/',
  ].map((url): [string, Record<string, unknown>, string] => [
    `a URL that may not be called, ${url}`,
    { externalSyncUrl: url },
    'input.externalSyncUrl',
  ]),
  ['a blank name', { name: ' \u00a0\n' }, 'input.name'],
  ['a blank persona', { personaPrompt: '' }, 'input.personaPrompt'],
  ['a blank position', { position: '\t' }, 'input.position'],
  ['a blank subject', { subject: '' }, 'input.subject'],
  ['a blank greeting', { openingGreeting: ' ' }, 'input.openingGreeting'],
  ['one character too many', { name: '😀'.repeat(201) }, 'input.name'],
  ['a persona without end', { personaPrompt: 'a'.repeat(20_001) }, 'input.personaPrompt'],
  ['a voice sensitivity above 1', { vadThreshold: 1.01 }, 'input.vadThreshold'],
  ['a voice sensitivity below 0', { vadThreshold: -0.01 }, 'input.vadThreshold'],
  ['a voice sensitivity that is no number', { vadThreshold: Number.NaN }, 'input.vadThreshold'],
  ['a rate that is too slow', { speakingRate: 0.24 }, 'input.speakingRate'],
  ['a rate that is too quick', { speakingRate: 4.01 }, 'input.speakingRate'],
  ['an infinite rate', { speakingRate: Number.POSITIVE_INFINITY }, 'input.speakingRate'],
  ['a hosted avatar without its config', { avatarBackend: 'HOSTED_API' }, 'input.avatarBackendConfig'],
  ['half a config', { avatarBackendConfig: { vendorAvatarId: 'a' } }, 'input.avatarBackendConfig.vendorAvatarModel'],
  [
    'a config with a blank id',
    { avatarBackendConfig: { vendorAvatarId: ' ', vendorAvatarModel: 'm' } },
    'input.avatarBackendConfig.vendorAvatarId',
  ],
  [
    'a config with more in it',
    { avatarBackendConfig: { vendorAvatarId: 'a', vendorAvatarModel: 'm', apiKey: 'k' } },
    'input.avatarBackendConfig',
  ],
  ['a config that is a list', { avatarBackendConfig: ['a'] }, 'input.avatarBackendConfig'],
  ...['hook', 'webhook_key', "' OR 1=1", ' ', 'x'.repeat(101)].map(
    (name): [string, Record<string, unknown>, string] => [
      `a secret that nobody provisioned, ${name}`,
      { externalSyncSecretRef: name },
      'input.externalSyncSecretRef',
    ],
  ),
  ['a URL that is none', { externalSyncUrl: 'hooks.example.com' }, 'input.externalSyncUrl'],
  ['a file URL', { externalSyncUrl: 'file:///etc/passwd' }, 'input.externalSyncUrl'],
  ['a script URL', { externalSyncUrl: 'javascript:alert(1)' }, 'input.externalSyncUrl'],
  ['a URL with a user', { externalSyncUrl: 'https://me:secret@example.com/' }, 'input.externalSyncUrl'],
  ['a URL with a line break', { externalSyncUrl: 'https://example.com/\na' }, 'input.externalSyncUrl'],
  ['a URL without end', { externalSyncUrl: `https://example.com/${'a'.repeat(2_048)}` }, 'input.externalSyncUrl'],
  ['an owner that is none', { externalSyncOwnerId: 0 }, 'input.externalSyncOwnerId'],
  ['a mapping that is no object', { externalSyncSchemaConfig: '$.score' }, 'input.externalSyncSchemaConfig'],
  ['a mapping to something else', { externalSyncSchemaConfig: { a: { b: 1 } } }, 'input.externalSyncSchemaConfig.a'],
  [
    'a mapping to a path that is none',
    { externalSyncSchemaConfig: { ok: '$.score', a: 'score' } },
    'input.externalSyncSchemaConfig.a',
  ],
  [
    'a mapping with an unknown function',
    { externalSyncSchemaConfig: { a: '$[?shell(@)]' } },
    'input.externalSyncSchemaConfig.a',
  ],
  [
    'a mapping that takes the parser hours',
    { externalSyncSchemaConfig: { a: `$[?${'value(@[?'.repeat(40)}@${'])'.repeat(40)}==1]` } },
    'input.externalSyncSchemaConfig.a',
  ],
  ['a broken template', { evaluationPromptTemplate: 'Judge {{ agent' }, 'input.evaluationPromptTemplate'],
  ['a template that reads a file', { evaluationPromptTemplate: '{% render "a" %}' }, 'input.evaluationPromptTemplate'],
  ['a template without end', { evaluationPromptTemplate: 'a'.repeat(20_001) }, 'input.evaluationPromptTemplate'],
  ['a label twice', { evaluationRecommendationLabels: ['A', 'A'] }, 'input.evaluationRecommendationLabels'],
  ['a blank label', { evaluationRecommendationLabels: ['A', ' '] }, 'input.evaluationRecommendationLabels.1'],
  [
    'too many labels',
    { evaluationRecommendationLabels: Array.from({ length: 51 }, (_, at) => `L${at}`) },
    'input.evaluationRecommendationLabels',
  ],
];

for (const [what, input, path] of refused) {
  test(`${what} is refused with its path, and nothing is stored`, async (t) => {
    const { app } = await agentApp(t);
    const error = await t.throwsAsync(app.createAgent(inTenant(1), { ...ada, ...input }));

    t.true(isDomainError(error, 'invalid'));
    t.true(isDomainError(error) && error.fields.some((field) => field.path === path), error.message);
    t.is(await app.countAgents(inTenant(1)), 0);
  });
}

test('an invalid input names every bad field', async (t) => {
  const { app } = await agentApp(t);
  const error = await t.throwsAsync(
    app.createAgent(inTenant(1), {
      ...ada,
      name: '',
      speakingRate: 9,
      vadThreshold: 2,
      evaluationRecommendationLabels: ['', 'a', 'a'],
    }),
  );
  t.deepEqual(isDomainError(error) && error.fields.map(({ path }) => path), [
    'input.name',
    'input.speakingRate',
    'input.vadThreshold',
    'input.evaluationRecommendationLabels.0',
    'input.evaluationRecommendationLabels',
  ]);
});

/** Text fields without a prescribed format. */
const texts = [
  'name',
  'personaPrompt',
  'position',
  'subject',
  'openingGreeting',
  'ttsVoice',
  'ttsLang',
  'avatarGlb',
  'lipsyncLang',
] as const;

/** Functions that return an input with the given text, one for each place that can contain a string. */
const places: ((text: string) => Record<string, unknown>)[] = [
  ...texts.map((field) => (text: string) => ({ [field]: text })),
  (text) => ({ evaluationPromptTemplate: text }),
  (text) => ({ externalSyncUrl: `https://example.com/${text}` }),
  (text) => ({ evaluationRecommendationLabels: [text] }),
  (text) => ({ externalSyncSchemaConfig: { a: text } }),
  (text) => ({ externalSyncSchemaConfig: { [text]: '$.a' } }),
  (text) => ({ avatarBackendConfig: { vendorAvatarId: text, vendorAvatarModel: 'm' } }),
  (text) => ({ avatarBackendConfig: { vendorAvatarId: 'a', vendorAvatarModel: text } }),
];

test('NUL and lone surrogates are refused in every field', async (t) => {
  const { app } = await agentApp(t);
  for (const hostile of ['a\0b', '\ud83d', 'a\udc00b', '\udc00\ud800']) {
    for (const place of places) {
      const input = place(hostile);
      const error = await t.throwsAsync(app.createAgent(inTenant(1), { ...ada, ...input }));
      t.true(isDomainError(error, 'invalid'), `${JSON.stringify(input)}: ${error}`);
    }
  }
  t.is(await app.countAgents(inTenant(1)), 0);
});

test('unusual texts are stored unchanged', async (t) => {
  const { app } = await agentApp(t);
  const odd = [
    `' OR 1=1; DROP TABLE agents; --`,
    '👩‍👩‍👧‍👦 ﷽ \u202eabc\u202c',
    '<script>alert(1)</script> ${7*7} %s %n \\u0000 \\ "',
    '\u0001\u001f\u007f\ufeff\uffff a',
    '__proto__',
    'NULL',
    '  spaces around  ',
  ];
  for (const text of odd) {
    const input = {
      ...Object.fromEntries(texts.map((field) => [field, text])),
      evaluationRecommendationLabels: [text],
      externalSyncSchemaConfig: Object.fromEntries([[text, `$[${JSON.stringify(text)}]`]]),
    };
    const { id } = await app.createAgent(inTenant(1), { ...ada, ...input });
    const found = await app.findAgent(inTenant(1), id);
    // The objects are compared as JSON, because `like` ignores the key `__proto__`.
    t.is(JSON.stringify({ ...found, ...input }), JSON.stringify(found), text);
  }
});
