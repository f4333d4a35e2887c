import test from 'ava';
import { madeOfTool } from './made-result.ts';

const textOf = (text: string) => [{ type: 'text' as const, text }];

test('a credential that a tool echoes is redacted in every part of the result', (t) => {
  const secret = 'canary"secret\\key/1';
  const body = (result: object) =>
    madeOfTool({ isError: false, content: [], isCut: false, bytes: 0, ...result }, [secret]).body;
  const json = { kind: 'json', text: '{"said":"[credential]"}' } as const;
  const said = { said: secret };
  t.deepEqual(body({ structured: said }), json);
  t.deepEqual(body({ content: textOf(JSON.stringify(said)) }), json);
  t.deepEqual(body({ content: textOf(JSON.stringify(said).replaceAll('/', '\\/')) }), json);
  t.deepEqual(body({ content: textOf(JSON.stringify(said).replaceAll('c', '\\u0063')) }), json);
  t.deepEqual(body({ content: textOf(`${JSON.stringify(said).slice(0, -1)},"said":"[credential]"}`) }), json);
  t.deepEqual(body({ content: textOf(`It said ${JSON.stringify(said)}`) }), {
    kind: 'text',
    text: 'It said {"said":"[credential]"}',
  });
  t.deepEqual(body({ content: [{ type: 'link', uri: secret }] }), {
    kind: 'json',
    text: '[{"type":"link","uri":"[credential]"}]',
  });
});

test('a numeric credential is redacted, and the result remains valid JSON', (t) => {
  for (const secret of ['12345678', '12345678901234567890']) {
    const content = textOf(`{"n": ${secret}, "other": 12}`);
    const { body } = madeOfTool({ isError: false, content, isCut: false, bytes: 0 }, [secret]);
    t.deepEqual(body, { kind: 'json', text: '{"n":"[credential]","other":12}' });
  }
});

test('JSON without a credential is returned verbatim, and too deeply nested JSON becomes text', (t) => {
  const body = (text: string) =>
    madeOfTool({ isError: false, content: textOf(text), isCut: false, bytes: 0 }, ['canary-1']).body;
  t.deepEqual(body('{ "id": 12345678901234567890 }'), { kind: 'json', text: '{ "id": 12345678901234567890 }' });
  const deep = `${'['.repeat(20_000)}"canary-1"${']'.repeat(20_000)}`;
  t.deepEqual(body(deep), { kind: 'text', text: deep.replace('canary-1', '[credential]') });
});
