import test from 'ava';
import { answerBody } from '../../src/custom-actions/answer-body.ts';
import { redactor } from '../../src/custom-actions/redact.ts';

const read = (body: string | Uint8Array, type?: string) => answerBody(Buffer.from(body as string), type);

test('JSON is recognized by its content type, or by its content if there is no type', (t) => {
  for (const type of [
    'application/json',
    'application/json; charset=utf-8',
    'application/problem+json',
    'Application/JSON',
    undefined,
  ])
    t.deepEqual(read('{"a":[1,null]}', type), { kind: 'json', json: { a: [1, null] }, text: '{"a":[1,null]}' }, type);
  t.deepEqual(read('\ufeff{"a":1}', 'application/json'), { kind: 'json', json: { a: 1 }, text: '{"a":1}' });
  t.deepEqual(read('null', 'application/json'), { kind: 'json', json: null, text: 'null' });
});

test('a body with a JSON content type that is not JSON is text', (t) => {
  for (const text of ['', '{"a":', '<html>', 'NaN', '{"a":1}{"b":2}'])
    t.deepEqual(read(text, 'application/json'), { kind: 'text', text });
  t.deepEqual(read('{"a":1}', 'text/plain'), { kind: 'text', text: '{"a":1}' });
});

test('JSON that is nested too deeply is returned as text', (t) => {
  const deep = '['.repeat(100_000) + ']'.repeat(100_000);
  t.is(read(deep, 'application/json').kind, 'text');
  t.is(read(`"${'['.repeat(1_000)}\\"["`, 'application/json').kind, 'json');
});

test('text is decoded by its charset, or as UTF-8 if the charset is unknown', (t) => {
  const text = (body: Uint8Array, type: string) => answerBody(body, type);
  t.deepEqual(text(Buffer.from([0xe4, 0x80]), 'text/plain; charset=windows-1252'), { kind: 'text', text: 'ä€' });
  t.deepEqual(text(Buffer.from([0xe4]), 'text/html; charset="ISO-8859-1"'), { kind: 'text', text: 'ä' });
  t.deepEqual(text(Buffer.from([0x82, 0xa0]), 'text/plain;charset=Shift_JIS'), { kind: 'text', text: 'あ' });
  const utf16 = text(Buffer.from('"ä"', 'utf16le'), 'application/json; charset=utf-16le');
  t.deepEqual(utf16, { kind: 'json', json: 'ä', text: '"ä"' });
  t.deepEqual(text(Buffer.from('ä'), 'text/plain; charset=no-such'), { kind: 'text', text: 'ä' });
  t.deepEqual(text(Buffer.from([0x61, 0xff]), 'text/plain'), { kind: 'text', text: 'a\ufffd' });
});

test('binary bodies are replaced by a description', (t) => {
  const png = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0, 0xff]);
  t.deepEqual(answerBody(png, 'image/png'), { kind: 'binary', contentType: 'image/png', bytes: 6 });
  t.deepEqual(answerBody(png, undefined), { kind: 'binary', contentType: 'application/octet-stream', bytes: 6 });
  t.deepEqual(answerBody(Buffer.from('a,b'), 'application/octet-stream'), { kind: 'text', text: 'a,b' });
  t.deepEqual(answerBody(Buffer.from('%PDF'), 'application/pdf'), {
    kind: 'binary',
    contentType: 'application/pdf',
    bytes: 4,
  });
});

test('an echoed credential is redacted in keys and strings, and in common encodings', (t) => {
  const secret = 'canary/token+1';
  const { json, text } = redactor([secret, 'short']);
  const echoed = {
    headers: { authorization: `Bearer ${secret}` },
    [secret]: [encodeURIComponent(secret), Buffer.from(secret).toString('base64')],
    n: 1,
  };
  t.deepEqual(json(echoed), {
    headers: { authorization: 'Bearer [credential]' },
    '[credential]': ['[credential]', '[credential]=='.slice(0, 13)],
    n: 1,
  } as unknown);
  t.is(text('short words stay'), 'short words stay');
  t.deepEqual(json(JSON.parse('{"__proto__":"x"}')), JSON.parse('{"__proto__":"x"}'));
});

test('long numbers keep their digits, also when a credential is redacted', (t) => {
  const { jsonText } = redactor(['canary-1', '98765432109876543210']);
  const cleaned = (text: string) => jsonText(text, JSON.parse(text));
  const long = '{ "id": 12345678901234567890, "n": [-9007199254740993, 1.50, 1e400] }';
  t.is(cleaned(long), long);
  t.is(
    cleaned('{"id": 12345678901234567890, "n": 1, "said": "canary-1"}'),
    '{"id":12345678901234567890,"n":1,"said":"[credential]"}',
  );
  t.is(cleaned('[98765432109876543210, 12345678901234567891]'), '["[credential]",12345678901234567891]');
});
