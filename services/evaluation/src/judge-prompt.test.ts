import { Agent } from '@parley/protos/parley/agent/v1/agent';
import { strictTokenBound, type TokenBound, usualTokenBound } from '@parley/text/token-bound';
import test from 'ava';
import { promptFitter } from './judge-prompt.ts';
import { sampler } from './sample.ts';
import { templateRenderer } from './template-renderer.ts';
import type { TranscriptLine } from './transcript.ts';

const renderer = templateRenderer();
test.after.always(() => renderer.stop());
const whose = { tenantId: 1, signal: new AbortController().signal };

const createdAt = '2026-01-02T03:04:05.678Z';
const agent = Agent.fromPartial({
  id: 5,
  name: 'Ivy',
  personaPrompt: 'You interview candidates.',
  position: 'Recruiter',
  subject: 'Databases',
  useCase: 'INTERVIEW',
});

async function prompt(given: {
  lines: TranscriptLine[];
  maxTokens?: number;
  countTokens?: TokenBound;
  template?: string;
  personaPrompt?: string;
}) {
  const {
    lines,
    maxTokens = 10_000,
    countTokens = usualTokenBound,
    template = '',
    personaPrompt = agent.personaPrompt,
  } = given;
  const sampling = sampler(200_000);
  sampling.add(lines);
  const failures: string[] = [];
  const fitter = promptFitter({
    agent: { ...agent, personaPrompt, evaluationPromptTemplate: template },
    labels: ['HIRE', 'HOLD'],
    sample: sampling.sample(),
    otherText: '{"type":"object"}',
    render: (rendering) => renderer.render(rendering, whose),
    onTemplateFailed: (problem) => failures.push(problem),
  });
  const fitted = await fitter({ maxTokens, countTokens });
  return { ...fitted, fitter, failures, size: countTokens(fitted.system) + countTokens(fitted.prompt) };
}

const said = (...texts: string[]): TranscriptLine[] =>
  texts.map((text, turnIndex) => ({ role: turnIndex % 2 === 0 ? 'MODEL' : 'USER', text, turnIndex, createdAt }));
const many = (count: number) =>
  said(...Array.from({ length: count }, (_, at) => `Message ${at} with some words in it`));

test('a conversation within the budget is shown whole, without a note', async (t) => {
  const { system, prompt: text } = await prompt({ lines: said('What is SQL?', 'A language') });
  t.regex(system, /Ivy.*Recruiter.*Databases.*INTERVIEW[\s\S]*You interview candidates\.[\s\S]*one of HIRE, HOLD/);
  t.is(
    text,
    'The conversation to judge, one JSON object a line:\n' +
      '{"turnIndex":0,"role":"MODEL","text":"What is SQL?"}\n{"turnIndex":1,"role":"USER","text":"A language"}',
  );
});

test('a long conversation is shortened to the budget, and the prompt says what is missing', async (t) => {
  for (const countTokens of [usualTokenBound, strictTokenBound]) {
    const { prompt: text, size, excerpt } = await prompt({ lines: many(1_000), maxTokens: 6_000, countTokens });
    t.true(size <= 6_000 && size > 4_000, `${size}`);
    t.true(text.includes(`too long to be shown whole: ${excerpt.lines.length} of its 1000 messages follow`));
    const missing = [...text.matchAll(/^\{"messagesLeftOut":(\d+)\}$/gm)].reduce(
      (sum, [, count]) => sum + Number(count),
      0,
    );
    t.is(missing + excerpt.lines.length, 1_000);
  }
});

test('a template writes lists and objects as text', async (t) => {
  const lines = said('What is SQL?', 'A language', 'And 2 + 2?', 'Four');
  const filled = async (template: string) => (await prompt({ lines, template })).system.split('\n\nAnswer with one')[0];
  t.is(await filled('{{ transcript }}'), 'MODEL: What is SQL?\nUSER: A language\nMODEL: And 2 + 2?\nUSER: Four');
  t.is(await filled('{{ labels }}'), 'HIRE, HOLD');
  t.is(await filled('{{ transcript[1] }} {{ transcript | last }}'), 'USER: A language USER: Four');
  t.is(await filled('{{ transcript | map: "text" }}'), 'What is SQL?, A language, And 2 + 2?, Four');
  t.is(
    await filled('{% for line in transcript %}{{ line.turnIndex }}{{ line.role }} {% endfor %}'),
    '0MODEL 1USER 2MODEL 3USER ',
  );
  t.is(
    await filled('{{ agent }}'),
    '{"name":"Ivy","personaPrompt":"You interview candidates.","position":"Recruiter","subject":"Databases","useCase":"INTERVIEW"}',
  );
});

test('a template that repeats the conversation gets a shorter excerpt', async (t) => {
  const { system, size, excerpt, failures } = await prompt({
    lines: many(1_000),
    maxTokens: 6_000,
    template: 'Judge:\n{{ transcript }}',
  });
  t.true(size <= 6_000 && size > 3_000, `${size}`);
  t.true(system.startsWith('Judge:\nMODEL: Message 0'));
  t.is(system.match(/^(?:MODEL|USER): /gm)?.length, excerpt.lines.length);
  t.deepEqual(failures, []);
});

test('a template that is too long, fails or does not end is replaced by the default instructions', async (t) => {
  for (const [template, problem] of [
    ['long '.repeat(3_900), /^too long$/],
    ['{{ agent.name | no_such_filter }}', /Error$/],
    ['{% for i in (1..100000000) %}{{ i }}{% endfor %}', /^too much memory$/],
    ['{% for i in (1..10000) %}{% for j in (1..10000) %}{% endfor %}{% endfor %}', /^too slow$/],
    ['{{ transcript', /Error$/],
  ] as const) {
    const { system, failures, size } = await prompt({ lines: said('What?', 'That'), maxTokens: 6_000, template });
    t.regex(system, /^You evaluate a finished conversation/);
    t.is(failures.length, 1);
    t.regex(failures[0] ?? '', problem);
    t.true(size <= 6_000);
  }
});

test('a template is rendered a few times per prompt, and replaced if it leaves no tokens for a line', async (t) => {
  for (const [template, isOwn] of [
    [`Mine. ${'1'.repeat(3_000)}`, true],
    ['Mine. {{ transcript }}', true],
    ['Mine. {% for i in (1..10) %}{{ transcript }}{% endfor %}', true],
    [`Mine. {% if transcript.size > 0 %}${'a '.repeat(30_000)}{% endif %}`, false],
    [`Mine. {% if transcript.size > 0 %}${'1'.repeat(11_900)}{% endif %}`, false],
  ] as const) {
    for (const lines of [many(6), many(1_000)]) {
      let renderings = 0;
      const countTokens: TokenBound = (text) => {
        if (text.startsWith('Mine. ')) renderings += 1;
        return strictTokenBound(text);
      };
      const { excerpt, failures, system, size } = await prompt({ lines, maxTokens: 12_000, countTokens, template });
      // At most four renderings are needed to fit a prompt. The fifth is the test's own count of the last prompt.
      t.true(renderings <= 5, `${renderings - 1} renderings of ${template.slice(0, 50)}`);
      t.is(system.startsWith('Mine. '), isOwn, template.slice(0, 50));
      t.deepEqual(failures, isOwn ? [] : ['too long'], template.slice(0, 50));
      t.true(size <= 12_000 && excerpt.lines.length > 5);
    }
  }
});

test('all renderings of a template share one time limit, after which it is not used again', async (t) => {
  const template = 'Mine. {% for i in (1..5000) %}{% endfor %}';
  const { fitter, failures, system } = await prompt({ lines: said('What?', 'That'), template });
  t.true(system.startsWith('Mine. '));
  const maxTokens = { maxTokens: 10_000, countTokens: usualTokenBound };
  for (let times = 0; times < 2_000 && failures.length === 0; times += 1) await fitter(maxTokens);
  t.deepEqual(failures, ['too slow']);
  t.regex((await fitter(maxTokens)).system, /^You evaluate a finished conversation/);
  t.is(failures.length, 1);
});

test('a persona that is too long is shortened, and a very small model gets a minimal prompt', async (t) => {
  const long = await prompt({ lines: many(100), maxTokens: 3_000, personaPrompt: '人'.repeat(20_000) });
  t.regex(long.system, /^You evaluate a finished conversation[\s\S]*人 \[… left out …\] 人/);
  t.true(long.size <= 3_000 && long.excerpt.lines.length > 10, `${long.size}`);
  const little = await prompt({ lines: many(100), maxTokens: 300, countTokens: strictTokenBound });
  t.true(little.size <= 900);
});

test('no text makes a prompt exceed its budget', async (t) => {
  for (const text of ['x'.repeat(50_000), '数'.repeat(50_000), '"\n\\'.repeat(10_000), '🦜'.repeat(20_000)]) {
    for (const countTokens of [usualTokenBound, strictTokenBound]) {
      const { size, excerpt } = await prompt({ lines: said('Go on', text), maxTokens: 4_000, countTokens });
      t.true(size <= 4_000, `${size}`);
      t.deepEqual([excerpt.lines.length, excerpt.truncated], [2, 1]);
    }
  }
});
