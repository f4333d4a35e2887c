import { createServer } from 'node:http';
import { listen } from '@parley/kernel/http/listen';
import test from 'ava';
import { getNamedType, isLeafType, isObjectType } from 'graphql';
import { createAction, createConnector } from '../../src/actions.ts';
import { type Answer, type Client, newAccount } from '../../src/client.ts';
import { createAgent, startSession } from '../../src/conversation.ts';
import { browserOf, isForBrowsers, sdkStart } from '../../src/embed.ts';
import { createKnowledgeBase, ingestText } from '../../src/knowledge.ts';
import { pagesHost } from '../../src/mesh.ts';
import { isText, type Operation, type Place, servedOperations } from '../../src/operations.ts';
import { subscribeOutcome } from '../../src/sockets.ts';
import { stories } from '../../src/stories.ts';
import { createWorkflow } from '../../src/workflows.ts';

// Validation of texts is the same on every mesh, so one mesh serves these many requests.
const story = stories(test, { on: 'processes' });

/** Texts that often break programs, by class and description. */
const naughtyStrings: Record<string, Record<string, string>> = {
  'no text may hold': {
    NUL: 'before\0after',
    'NUL alone': '\0',
    'a high surrogate alone': 'x\ud83d',
    'a low surrogate alone': '\ude00x',
    'surrogates the wrong way round': '\ude00\ud83d',
  },
  blank: {
    empty: '',
    blank: ' \t\n ',
    'blank in Unicode': '\u00a0\u2003\u3000\u200b',
  },
  controls: {
    'control characters': '\u0001\u0007\b\u001b[31mred\u007f\u0085',
    'line ends of all kinds': 'a\r\nb\rc\nd\u2028e\u2029f',
    'right-to-left marks': '\u202eevil\u202c \u2066isolated\u2069 \u200f',
    'a byte order mark': '\ufefftext\ufeff',
    'not characters': '\ufffe\uffff\u{1ffff}',
    'private use': '\ue000\u{f0000}\u{10ffff}',
    'the replacement character': '\ufffd\ufffd',
  },
  unicode: {
    'right-to-left text': 'שלום עולם, مرحبا بالعالم',
    'a family of emoji': '👩‍👩‍👧‍👦 👨🏿‍🚀 🏳️‍🌈 🇺🇳',
    'outside the Basic Multilingual Plane': '𝒫𝒶𝓇𝓁𝑒𝓎 𠜎𠜱',
    'composed and decomposed': 'Å = A\u030a = \u212b, ﬃ, ſ',
    'stacked accents': `Z${'\u0300\u0336'.repeat(60)}algo`,
    'case that changes length': 'ẞ İ ŉ Σ ς ß',
    'digits of another script': '١٢٣४५६',
  },
  values: {
    'special names': '__proto__',
    constructor: 'constructor',
    toString: 'toString',
    'null as text': 'null',
    'undefined as text': 'undefined',
    'true as text': 'true',
    'zero as text': '0',
    'minus zero': '-0',
    'not a number': 'NaN',
    infinity: '-Infinity',
    'a number that is too large': '9'.repeat(40),
    'a number in exponents': '1e1000',
    'an octal number': '0o17 0x1F 017',
  },
  injections: {
    'SQL that drops': "'; DROP TABLE sessions; --",
    'SQL that is always true': "1' OR '1'='1",
    'SQL comments and quotes': `"/* $$ */ $1 ? ?? :name \\' "" ''`,
    'LIKE patterns': '%_\\%',
    HTML: '<script>alert(1)</script><img src=x onerror=alert(1)>',
    'an attribute': '" onmouseover="alert(1)" x="',
    'a URL that runs': 'javascript:alert(1)//',
    entities: '&lt;&amp;&#0;&nbsp;',
    'a Liquid template': '{{ 7 | times: 7 }}{% raw %}{% assign x = 1 %}',
    'an unclosed template': '{{ {% if',
    'other templates': '${7*7} #{7*7} <%= 7*7 %> {7*7} $(id) `id`',
    'printf formats': '%s%s%n%x%d%%0$s',
    'a lookup': '${jndi:ldap://127.0.0.1/a}',
    'a path': '../../../../etc/passwd',
    'a Windows device': 'CON C:\\x\\..\\y',
    'header injection': 'x\r\nSet-Cookie: a=b\r\n\r\nbody',
    'JSON inside': '{"a":[1,"\\u0000"]}',
    'an escape that is text': '\\u0000 \\ud800 \\x00 \\0',
    'GraphQL inside': '") { id } __typename #',
    'XML entities': '<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]><a>&b;</a>',
    'a formula': '=1+1;@SUM(1);+1;-1',
    'an evil pattern': `(a+)+$ ${'a'.repeat(60)}!`,
  },
  long: {
    'four thousand characters': 'long '.repeat(800),
    'ten thousand and one characters': 'x'.repeat(10_001),
    'long and outside the Basic Multilingual Plane': '😀'.repeat(9_999),
    'a quarter of a megabyte': 'y'.repeat(250_000),
  },
};
const allStrings = Object.values(naughtyStrings).flatMap((ofClass) => Object.entries(ofClass));
const unstorable = new Set(Object.keys(naughtyStrings['no text may hold'] ?? {}));

/** Returns one string of each class, selected by `n`, so that together the places receive all strings. */
function oneOfEachClass(n: number): [string, string][] {
  return Object.values(naughtyStrings).flatMap((ofClass) => {
    const all = Object.entries(ofClass);
    return [all[n % all.length] ?? ['', '']];
  });
}

/** Fields whose texts are normalized before they are stored. */
const keptAs: Record<string, (text: string) => string> = {
  'RegisterInput.email': (text) => text.trim().toLowerCase(),
  'RegisterInput.idType': (text) => text.trim(),
};

/** Error codes for a text that is valid but not found, already in use, or not authorized. */
const otherRefusals = new Set(['UNAUTHENTICATED', 'NOT_FOUND', 'CONFLICT']);

/** Number of concurrent requests. */
const atOnce = 6;

story(
  'every text that is sent to any operation is either stored unchanged or refused as BAD_REQUEST',
  async (t, mesh) => {
    t.timeout(300_000); // thousands of requests may take long on a busy machine
    const { person, visitor } = mesh;
    const pages = createServer((_, response) => response.setHeader('content-type', 'text/plain').end('Hello.'));
    const page = { 'input.url': `http://${await listen(pages, 0, pagesHost)}/` };
    t.teardown(() => pages.close());
    const workers = await Promise.all(Array.from({ length: atOnce }, async () => newWorker(await person())));
    const operations = servedOperations().filter(({ kind }) => kind !== 'subscription');
    const reads = readers(operations);
    const walked = operations.flatMap((operation) =>
      operation.places.filter(isText).map((place) => ({ operation, place })),
    );
    t.true(walked.length >= 45);
    const taken = new Set<string>();
    const whole = wholeWalks(walked);

    for (const [n, { operation, place }] of walked.entries()) {
      const at = `${operation.name} ${place.path}`;
      await send(operation, place, whole.has(place) ? allStrings : oneOfEachClass(n));
      // If the place accepted none of these texts, all texts are sent to it, because it may accept only a few of them.
      if (!taken.has(at) && !neverTaken[place.inputField]) await send(operation, place, allStrings);
    }
    // Each place must accept a text. Otherwise all texts may have been refused for another reason, and nothing would be tested.
    const untaken = walked.filter(({ operation, place }) => !taken.has(`${operation.name} ${place.path}`));
    const exceptions = new Set(untaken.map(({ place }) => place.inputField));
    t.deepEqual([...exceptions].sort(), Object.keys(neverTaken).sort(), 'these took none of them');

    async function send(operation: Operation, place: Place, texts: [string, string][]): Promise<void> {
      const waiting = texts.values();
      await Promise.all(
        workers.map(async (worker) => {
          for (const text of waiting) await check(worker, operation, place, text);
        }),
      );
    }

    async function check(
      worker: Worker,
      operation: Operation,
      place: Place,
      [name, text]: [string, string],
    ): Promise<void> {
      const at = `${operation.name} ${place.path}`;
      const about = `${at}: ${name}`;
      const value = valueWith(text, place);
      const { client, given, variables } = await prepared(worker, operation, place, value);
      const answer = await client.send(operation.document, variables);
      const { code, statusCode, fields } = answer.errors?.[0]?.extensions ?? {};
      if (code !== undefined) {
        t.is(answer.status, 200, about);
        t.true(code === 'BAD_REQUEST' || otherRefusals.has(code), `${about}: ${answer.text.slice(0, 500)}`);
        t.true((statusCode ?? 500) < 500, about);
        if (unstorable.has(name)) t.is(code, 'BAD_REQUEST', about);
        const never = unstorable.has(name) ? undefined : neverTaken[place.inputField];
        if (never) t.regex(answer.errors?.[0]?.message ?? '', never.said, about);
        else if (code === 'BAD_REQUEST') {
          t.true((fields?.length ?? 0) > 0, about);
          // The error names only the tested argument.
          const inLists = place.path.replaceAll('.', String.raw`(\.\d+)?\.`);
          for (const { path } of fields ?? []) t.regex(path, new RegExp(`^${inLists}(\\W|$)`), about);
        }
        return;
      }
      t.is(answer.errors, undefined, about);
      t.false(unstorable.has(name), `${about} was taken`);
      taken.add(at);
      const isPassword = /\.(newP|p)assword$/.test(place.path);
      const email = client.account?.email ?? String(given['input.email']);
      if (isPassword) await t.notThrowsAsync(visitor().login({ email, password: text }), about);
      await assertKept({ ...worker, client, member: worker.client }, operation, place, value, answer, about);
    }

    /** Returns a client that may call the operation, and variables that are valid except for the tested place. */
    async function prepared(
      worker: Worker,
      { name, by, throttle, variables }: Operation,
      { path }: Place,
      value: unknown,
    ) {
      // allow-name createTenant: a user may create only a few tenants, so each is created by a new user. allow-name createKnowledgeBase: the same.
      const isLimited = ['createTenant', 'createKnowledgeBase'].includes(name);
      // allow-name transcribeSpeech: voice limits it by client address.
      const isElsewhere = throttle || name === 'transcribeSpeech';
      const member = isLimited ? await person() : isElsewhere ? elsewhere(worker.client) : worker.client;
      const client = by.length === 0 ? visitor() : isForBrowsers({ by }) ? worker.browser : member;
      const given: Record<string, unknown> = { ...goodValues(), ...page, [path]: value };
      const steps = path.split('.');
      // Some arguments exclude each other.
      // allow-name login: an email or a phone number. allow-name generateOTP: the same. allow-name createAgent: a URL or none.
      if (['login', 'generateOTP'].includes(name) && path === 'input.phoneNumber') delete given['input.email'];
      if (name === 'createAgent' && path === 'input.externalSyncUrl') given['input.externalSyncEnabled'] = false;
      // allow-name createCustomAction: some of its fields require another one. A tool requires its connector.
      const tools = path === 'input.tools.tool' ? { 'input.tools.connectorId': worker.connectorId } : {};
      // allow-name sdkStart: a persona or an existing agent. allow-name runWorkflowTask: the workflow is not published.
      const drafts = name === 'runWorkflowTask' ? { 'input.testDraft': true } : tools;
      const embeds =
        name === 'sdkStart' && path !== 'input.personaPrompt' ? { 'input.personaPrompt': 'You are Max.' } : drafts;
      const beside = name === 'createCustomAction' ? (needed[path] ?? {}) : embeds;
      Object.assign(given, beside);
      return {
        client,
        given,
        variables: variables((at, type, isRequired) => {
          // Optional arguments are omitted. The email is an exception: a sign-in needs an email or a phone number.
          const isGiven = at === path || !isLeafType(type) || isRequired || at === 'input.email' || at in beside;
          if (at in given && isGiven) return given[at];
          if (['ID', 'Int', 'Float'].includes(type.name)) return idAt(worker, name, at);
          return path.startsWith(`${at}.`) && at.split('.').length < steps.length ? true : undefined;
        }),
      };
    }

    function idAt(
      { agentId, sessionId, baseId, documentId, connectorId, actionId, workflowId }: Worker,
      operation: string,
      path: string,
    ) {
      if (path === 'connectorId' || (path.endsWith('id') && operation.endsWith('McpConnector'))) return connectorId;
      if (path.endsWith('id') && operation.endsWith('CustomAction')) return actionId;
      if (path.endsWith('workflowId') || (path === 'id' && operation.endsWith('Workflow'))) return workflowId;
      if (path.endsWith('knowledgeBaseId') || (path === 'id' && operation.endsWith('KnowledgeBase'))) return baseId;
      if (path === 'id' && operation.includes('KnowledgeDocument')) return documentId;
      if (path === 'id') return operation === 'session' ? String(sessionId) : String(agentId);
      if (path === 'input.agentId') return operation === 'sdkStart' ? undefined : agentId;
      return path.endsWith('sessionId') ? sessionId : undefined;
    }

    /** Asserts that the response and a later read contain the same text. */
    async function assertKept(
      { client, member, sessionId }: Worker & { member: Client },
      { name, field }: Operation,
      { path, inputField }: Place,
      value: unknown,
      answer: Answer<Record<string, unknown>>,
      about: string,
    ): Promise<void> {
      // allow-name sendMessage: the text is read in the session. allow-name sdkSendMessage: the same. allow-name register: in the new user's profile.
      if (['sendMessage', 'sdkSendMessage'].includes(name) && path === 'input.text') {
        const { session: read } = await member.query<{ session: { messages: { text: string }[] } }>(
          'query ($id: ID!) { session(id: $id) { messages { text } } }',
          { id: sessionId },
        );
        t.true(
          read.messages.some(({ text }) => text === value),
          about,
        );
        return;
      }
      if (name === 'register') {
        const profile = await profileOf(
          Object.assign(visitor(), { tokens: answer.data?.['register'] as Client['tokens'] }),
        );
        const leaf = path.split('.').at(-1) ?? '';
        if (!(leaf in profile)) return;
        t.is(profile[leaf], keptAs[inputField]?.(String(value)) ?? String(value), about);
        return;
      }
      // The response contains the model that replied, not the requested one.
      if (inputField === 'GenerateTextInput.modelId') return;
      const leaf = path.split('.').at(-1) ?? '';
      const row = answer.data?.[name] as Record<string, unknown> | undefined;
      if (typeof row !== 'object' || row === null || !(leaf in row)) return;
      const kept = Array.isArray(row[leaf]) ? [value] : value;
      t.deepEqual(row[leaf], kept, `${about}, in the answer`);
      const read = reads.get(getNamedType(field.type).name);
      if (!read) return;
      const again = await client.query(read.document, idOf(read.field, row['id']));
      t.deepEqual((again[read.name] as typeof row)[leaf], kept, `${about}, read back`);
    }
  },
);

story('a phone number is accepted in any spelling, and stored as ASCII digits', async (t, mesh) => {
  for (const [code, spell] of [
    ['+44', (digits: string) => digits],
    ['44', (digits: string) => `(0) ${digits.slice(0, 4)}-${digits.slice(4)}`],
    [' +44 ', (digits: string) => `\u00a0${digits.slice(0, 4)}.${digits.slice(4)}\t`],
    ['+٤٤', (digits: string) => inDigitsFrom('٠', digits)],
    ['＋４４', (digits: string) => inDigitsFrom('０', digits)],
    ['+44', (digits: string) => inDigitsFrom('०', `0${digits}`)],
    ['+44', (digits: string) => `+44 ${digits}`],
  ] as const) {
    const digits = newAccount().phoneNumber;
    const phoneNumber = spell(digits);
    const ada = mesh.visitor();
    await ada.register({ phoneCode: code, phoneNumber });
    const profile = await profileOf(ada);
    const about = `${code} ${phoneNumber}`;
    t.is(profile['phoneCode'], code.includes('+') || code.includes('＋') ? '+44' : '44', about);
    t.is(profile['phoneNumber']?.replace(/^0/u, ''), digits, about);
    const again = mesh.visitor();
    await t.notThrowsAsync(again.login({ phoneNumber: `+44${digits}`, password: ada.account?.password ?? '' }), about);
  }
});

story('a subscription refuses any text that is not an event id or does not name an object', async (t, mesh) => {
  const ada = await mesh.person();
  const { id } = await startSession(ada, await createAgent(ada));
  const { apiKey } = await ada.withApiKey();
  for (const operation of servedOperations()) {
    if (operation.kind !== 'subscription') continue;
    const credentials = {
      'x-app-platform': 'customer',
      ...(operation.by.includes('JWT')
        ? { authorization: `Bearer ${ada.tokens?.accessToken}` }
        : { 'x-api-key': apiKey ?? '' }),
    };
    const texts = operation.places.filter(isText);
    // If another argument names an absent object, the subscription is refused for that reason first.
    const isOpenFromStart = texts.every(({ path }) => path === 'after');
    for (const { path } of texts) {
      for (const [name, text] of allStrings) {
        const variables = operation.variables((at, type) =>
          at === path ? text : type.name === 'ID' ? String(id) : undefined,
        );
        const outcome = await subscribeOutcome({ url: ada.url, credentials, query: operation.document, variables });
        const isPlace = path === 'after' && text === '0'; // a valid id, before the first event
        const refusal = (path === 'after' && !isPlace) || unstorable.has(name) ? 'BAD_REQUEST' : 'FORBIDDEN';
        t.is(outcome, isPlace && isOpenFromStart ? 'ok' : refusal, `${operation.name} ${path}: ${name}`);
      }
    }
  }
});

/** Returns the client's own profile. */
async function profileOf(client: Client): Promise<Record<string, string>> {
  return client.value('{ getAuthProfile { email fullname phoneCode phoneNumber idType idNo } }');
}

/** Converts ASCII digits to the digits of another script. */
function inDigitsFrom(zero: string, digits: string): string {
  return digits.replace(/[0-9]/gu, (digit) => String.fromCodePoint((zero.codePointAt(0) ?? 0) + Number(digit)));
}

interface Walked {
  operation: Operation;
  place: Place;
}

/** Selects the places to which all texts are sent: one for each service and type of text, preferably one whose value can be read back. */
function wholeWalks(walked: readonly Walked[]): Set<Place> {
  const byType = Map.groupBy(walked, ({ operation, place }) => `${operation.service} ${place.type}`);
  return new Set(
    [...byType.values()].flatMap((places) => {
      const good = places.filter(({ place }) => !neverTaken[place.inputField]);
      // An update is cheaper than creating an object each time.
      const kept = good.filter(isReadBack);
      const best = kept.find(({ operation }) => operation.name.startsWith('update')) ?? kept[0] ?? good[0];
      return best ? [best.place] : [];
    }),
  );
}

/** Reports whether the operation's result has a field for the text. */
function isReadBack({ operation, place }: Walked): boolean {
  const answer = getNamedType(operation.field.type);
  return isObjectType(answer) && (place.path.split('.').at(-1) ?? '') in answer.getFields();
}

/** A client with its own objects, so that workers do not change each other's objects. */
interface Worker {
  client: Client;
  agentId: number;
  sessionId: number;
  baseId: number;
  documentId: number;
  connectorId: number;
  actionId: number;
  workflowId: number;
  /** A client whose only credential is a token of the session. */
  browser: Client;
}

/** Returns the client with an unused address, which no throttle has counted. */
function elsewhere(client: Client): Client {
  return Object.assign(client.at(client.url), { apiKey: client.apiKey });
}

async function newWorker(client: Client): Promise<Worker> {
  const agentId = await createAgent(client);
  ({ apiKey: client.apiKey } = await client.withApiKey());
  const baseId = await createKnowledgeBase(client);
  const { id: documentId } = await ingestText(client, baseId, 'Hello.');
  const { sessionId, avatarToken } = await sdkStart(client, { agentId });
  const browser = browserOf(client, avatarToken);
  const connectorId = await createConnector(client);
  const actionId = await createAction(client, { bearerToken: 'token' });
  const workflowId = await createWorkflow(client);
  return { client, agentId, sessionId, baseId, documentId, connectorId, actionId, workflowId, browser };
}

/** Returns variables for an operation that has one id argument or no argument. */
function idOf({ args: [argument] }: Operation['field'], id: unknown): Record<string, unknown> {
  if (!argument) return {};
  return { id: getNamedType(argument.type).name === 'Int' ? Number(id) : String(id) };
}

/** Returns the operations that read one object, by the object's type. They take the object's id or no argument. */
function readers(operations: Operation[]): Map<string, Operation> {
  const found = new Map<string, Operation>();
  for (const operation of operations) {
    const { kind, field } = operation;
    const takes = field.args.map(({ name }) => name).join();
    if (kind !== 'query' || (takes !== '' && takes !== 'id') || !isObjectType(getNamedType(field.type))) continue;
    if (String(field.type).startsWith('[')) continue;
    found.set(getNamedType(field.type).name, operation);
  }
  return found;
}

/** Returns a value that contains the text and may be accepted: the text itself, or the text in the form that the place requires. */
function valueWith(text: string, { path, type }: Place): unknown {
  const form = forms[path.split('.').at(-1) ?? ''];
  if (form) return form(text);
  return type !== 'String' ? { text, list: [text], keys: { [text]: 1 } } : text;
}

const inUrl = (text: string) => `https://example.com/${text}`;

const forms: Record<string, (text: string) => unknown> = {
  // Random, so that it is unused in every run.
  email: (text) => `${text}${Math.random().toString(36).slice(2)}@example.com`,
  externalSyncUrl: inUrl,
  liveTalkingUrl: inUrl,
  serverUrl: inUrl,
  input: (text) => ({ message: text, variables: { text }, metadata: [text] }),
  extraHeaders: (text) => ({ 'x-text': text }),
  externalSyncSchemaConfig: (text) => ({ [text]: `$[${JSON.stringify(text)}]` }),
  avatarBackendConfig: (text) => ({ vendorAvatarId: text, vendorAvatarModel: text }),
};

const noWorkflow = {
  why: 'the model of the mesh writes no workflows',
  said: /^(The model wrote no workflow|input\.\w+ must (not be blank|have at most 4000 characters))/,
};

const unpricedModel = {
  why: 'no model has such a name',
  said: /^input\.\w+ (names a model that has no price here|must not be blank|must have at most \d+ characters)$/,
};
const noSuchSecret = {
  why: 'no secret of such a name was provisioned',
  said: /^input\.externalSyncSecretRef (names no secret that was provisioned for this tenant|must not be blank|must have at most 100 characters)$/,
};

const nothingOffered = {
  why: 'no secret is that of anybody',
  said: /^input\.secret was not offered to you within the last 10 minutes$/,
};
const noTicket = {
  why: 'the identity provider made no such ticket',
  said: /^(The identity provider refused the ticket|input\.(productTickets\.0\.)?(ticket|product) must (not be blank|have at most \d+ characters))$/,
};
const nothingBound = { why: 'no secret is bound', said: /^No second factor is bound to this account$/ };

/** For a field of an action, the fields that must be set together with it. */
const needed: Record<string, Record<string, unknown>> = {
  'input.credentialSecretHeaderName': { 'input.bearerToken': 'token' },
  'input.messagingAppId': { 'input.messagingAppSecret': 'secret' },
  'input.messagingAppSecret': { 'input.messagingAppId': 'app' },
};

const noMethod = { why: 'no method', said: /^input\.method must be one of GET, / };
const noSource = {
  why: 'no source that a tenant may choose',
  said: /^input\.credentialSource must be one of SESSION_PARTNER_A, /,
};

const noUploadType = {
  why: 'no file may have such a type',
  said: /^input\.mimeType must be one of application\/pdf, /,
};

/**
 * The few places that accept none of the texts, each with the reason. Texts that could be stored are refused there with a message that
 * matches `said`.
 */
const neverTaken: Record<string, { why: string; said: RegExp }> = {
  'CreateAgentInput.externalSyncSecretRef': noSuchSecret,
  'UpdateAgentInput.externalSyncSecretRef': noSuchSecret,
  'CreateAgentInput.llmModelOverride': unpricedModel,
  'UpdateAgentInput.llmModelOverride': unpricedModel,
  'CreateTenantInput.llmModelOverride': unpricedModel,
  'UpdateTenantInput.llmModelOverride': unpricedModel,
  'TestLlmProviderInput.modelId': unpricedModel,
  'AiGenerateWorkflowInput.prompt': noWorkflow,
  'GenerateWorkflowDiffInput.instruction': noWorkflow,
  'GenerateTextInput.images': { why: 'no image', said: /^input\.images\.0 must be a PNG, JPEG, WebP or GIF image/ },
  'SignInInput.email': { why: 'looked for, and nobody has it', said: /^Wrong credentials$/ },
  'SignInInput.phoneNumber': { why: 'looked for, and nobody has it', said: /^Wrong credentials$/ },
  'SignInInput.password': {
    why: 'nobody has it; what somebody has is tried where passwords are given',
    said: /^Wrong credentials$/,
  },
  'RefreshAvatarTokenInput.avatarToken': { why: 'nobody was given it', said: /^Invalid or expired avatar token$/ },
  'RefreshAccessTokenInput.refreshToken': { why: 'nobody was given it', said: /^Invalid or expired refresh token$/ },
  'SdkVerifyIdpIdentityInput.ticket': noTicket,
  'ProductTicketInput.ticket': noTicket,
  'ProductTicketInput.product': noTicket,
  ticket: {
    why: 'the identity provider made none of them',
    said: /^(Invalid or expired ticket|ticket must (not be blank|have at most 4096 characters))$/,
  },
  'RegisterInput.phoneCode': { why: 'nobody could be called', said: /^input\.phoneNumber is not a possible phone/ },
  'RegisterInput.phoneNumber': { why: 'nobody could be called', said: /^input\.phoneNumber is not a possible phone/ },
  'RegisterInput.referralCode': {
    why: 'is to be that of another user',
    said: /^input\.referralCode (is nobody’s|must not be blank|must have at most 64 characters)$/,
  },
  'TranscribeSpeechInput.audioEncoding': { why: 'no encoding', said: /^input\.audioEncoding must be MP3, LINEAR16,/ },
  'BindTwoFactorInput.secret': nothingOffered,
  'BindTwoFactorInput.code': nothingOffered,
  'UnbindTwoFactorInput.code': nothingBound,
  code: nothingBound, // the argument of verifyTwoFactor
  'ValidateSecuredTokenInput.token': { why: 'nobody was sent it', said: /^The code or link is not valid$/ },
  'PasswordWithOTPInput.newPassword': {
    why: 'nobody was sent the code beside it',
    said: /^(The code or link is not valid|input\.newPassword (must have at (least|most) \d+ characters|is one of the most common passwords))$/,
  },
  'RequestKnowledgeDocumentUploadInput.mimeType': noUploadType,
  'ConfirmKnowledgeDocumentUploadInput.mimeType': noUploadType,
  'ConfirmKnowledgeDocumentUploadInput.fileName': {
    why: 'no upload has the key beside it',
    said: /^(Upload .* not found|input\.fileName must (not be blank|not hold line breaks or control characters|have at most 255 characters))$/,
  },
  'ConfirmKnowledgeDocumentUploadInput.objectStorageKey': {
    why: 'no upload has such a key',
    said: /^Upload .* not found$/s,
  },
  'CreateCustomActionInput.method': noMethod,
  'UpdateCustomActionInput.method': noMethod,
  'CreateCustomActionInput.credentialSource': noSource,
  'UpdateCustomActionInput.credentialSource': noSource,
  'CreateCustomActionInput.messagingRegion': {
    why: 'no region',
    said: /^input\.messagingRegion must be /,
  },
  after: {
    why: 'no id of a call or a delivery, and no cursor',
    said: /^after (must be the id of a (call|delivery)|is no cursor of this list)$/,
  },
  'CreateCustomActionInput.url': { why: 'no URL', said: /^input\.url / },
  'UpdateCustomActionInput.url': { why: 'no URL', said: /^input\.url / },
  'IngestDocumentFromUrlInput.url': { why: 'no URL', said: /^input\.url / },
  'ValidateSecuredTokenInput.contact': { why: 'nothing was sent there', said: /^The code or link is not valid$/ },
};

/** Returns valid values for the arguments that are not tested. */
function goodValues(): Record<string, unknown> {
  const some = Math.random().toString(36).slice(2);
  return {
    'input.email': `${some}@example.com`,
    'input.password': `${some} passphrase ${some}`,
    'input.newPassword': `${some} passphrase ${some}`,
    'input.fullname': 'Ada Lovelace',
    'input.phoneCode': '+44',
    'input.phoneNumber': `7${String(Math.random()).slice(2, 11).padEnd(9, '1')}`,
    'input.name': 'Maya',
    'input.serverUrl': 'https://example.com/mcp',
    'input.apiKey': 'key',
    'input.personaPrompt': 'You are Maya.',
    'input.position': 'Engineer',
    'input.useCase': 'INTERVIEW',
    'input.clientExternalId': 'customer-1',
    'input.text': 'Hello.',
    'input.prompt': 'Say hello.',
    'input.mimeType': 'application/pdf',
    'input.audioBase64': Buffer.from(`ID3${'\0'.repeat(60)}`).toString('base64'),
    'input.audioEncoding': 'MP3',
    'input.languageCode': 'en-US',
    'input.declaredSizeBytes': 1,
    'input.objectStorageKey': 'tenants/1/uploads/none/none.pdf',
  };
}
