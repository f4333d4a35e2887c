import test from 'ava';
import { refusedResult, toolResult } from './tool-result.ts';

const options = { maxBytes: 1_000 };
const base64 = Buffer.alloc(300).toString('base64');

test('content of every type is normalized, without the data of media', (t) => {
  const content = [
    { type: 'text', text: 'a', annotations: {}, more: 1 },
    { type: 'image', data: base64, mimeType: 'image/png' },
    { type: 'audio', data: base64, mimeType: 'audio/wav' },
    { type: 'resource', resource: { uri: 'file:///a', mimeType: 'text/plain', text: 'über' } },
    { type: 'resource', resource: { uri: 'file:///b', blob: base64 } },
    { type: 'resource_link', uri: 'https://a.example/', name: 'a', title: 'b', mimeType: 'text/html', size: 7 },
    { type: 'hologram', data: base64 },
  ];
  t.deepEqual(toolResult({ content, structuredContent: { a: [1] } }, options), {
    isError: false,
    content: [
      { type: 'text', text: 'a' },
      { type: 'image', mimeType: 'image/png', bytes: 300 },
      { type: 'audio', mimeType: 'audio/wav', bytes: 300 },
      { type: 'resource', uri: 'file:///a', mimeType: 'text/plain', bytes: 5, text: 'über' },
      { type: 'resource', uri: 'file:///b', bytes: 300 },
      { type: 'link', uri: 'https://a.example/', name: 'a', mimeType: 'text/html', bytes: 7 },
      { type: 'unknown', kind: 'hologram' },
    ],
    structured: { a: [1] },
    isCut: false,
    bytes: 15,
  });
});

test('media include their data if requested and if it fits the limit', (t) => {
  const image = { type: 'image', data: base64, mimeType: 'image/png' };
  const { content, isCut } = toolResult({ content: [image, image, image] }, { ...options, withMedia: true });
  t.deepEqual(
    content.map((each) => 'data' in each && each.data === base64),
    [true, true, false],
  );
  t.true(isCut);
});

test('text is truncated between characters, and JSON that exceeds the limit is omitted', (t) => {
  const long = toolResult(
    {
      content: [
        { type: 'text', text: 'é'.repeat(600) },
        { type: 'text', text: 'b' },
      ],
    },
    { maxBytes: 999 },
  );
  t.deepEqual(long.content, [
    { type: 'text', text: 'é'.repeat(499), isCut: true },
    { type: 'text', text: '', isCut: true },
  ]);
  t.true(long.isCut);
  const json = toolResult({ content: [{ type: 'text', text: 'a' }], structuredContent: ['a'.repeat(1_000)] }, options);
  t.deepEqual(json, { isError: false, content: [{ type: 'text', text: 'a' }], isCut: true, bytes: 1 });
  const many = toolResult({ content: Array.from({ length: 5_000 }, () => ({ type: 'text', text: '' })) }, options);
  t.is(many.content.length, 1_000);
  t.true(many.isCut);
});

test('invalid parts of a result are omitted', (t) => {
  const content = [
    null,
    'text',
    [],
    { type: 'text' },
    { type: 'text', text: 7 },
    { type: 'image', data: 7 },
    { type: 'resource' },
    { type: 7 },
    { type: 'resource_link', uri: {}, size: -1 },
    { type: 'text', text: '\ud800' },
  ];
  t.deepEqual(toolResult({ content, isError: 'true', structuredContent: null }, options), {
    isError: false,
    content: [
      { type: 'text', text: '' },
      { type: 'text', text: '7' },
      { type: 'image', mimeType: 'application/octet-stream', bytes: 0 },
      { type: 'resource', uri: '', bytes: 0 },
      { type: 'unknown', kind: '' },
      { type: 'link', uri: '' },
      { type: 'text', text: '\ufffd' },
    ],
    isCut: false,
    bytes: 4,
  });
  t.deepEqual(toolResult({}, options), { isError: false, content: [], isCut: false, bytes: 0 });
  t.deepEqual(toolResult({ content: 'words', isError: true }, options).content, [{ type: 'text', text: 'words' }]);
  t.deepEqual(toolResult({ toolResult: { a: 1 } }, options).structured, { a: 1 });
});

test("a refusal is a result with the server's message, truncated", (t) => {
  t.deepEqual(refusedResult('TOOL_FAILED', '', options), {
    isError: true,
    refusal: 'TOOL_FAILED',
    content: [],
    isCut: false,
    bytes: 0,
  });
  t.true(refusedResult('TOOL_NOT_FOUND', 'a'.repeat(2_000), options).isCut);
});
