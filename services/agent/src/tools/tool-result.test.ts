import type { CallResult } from '@parley/protos/parley/action/v1/action';
import test from 'ava';
import type { ModelMessage } from '../models/model.ts';
import { failedResult, resultText, withinBytes, withShorterResults } from './tool-result.ts';

const done = failedResult('', '');
const withText = (value: string, more: Partial<CallResult> = {}) => ({
  ...done,
  body: { $case: 'text' as const, value },
  ...more,
});

test('a result is its body, after what went wrong and the status of its answer', (t) => {
  t.is(resultText(done, 100), 'Done, without a result.');
  t.is(resultText(withText('[1]'), 100), '[1]');
  t.is(resultText(withText('{}', { status: 201 }), 100), 'HTTP status 201\n{}');
  t.is(resultText(failedResult('TOOL_NOT_FOUND', 'There is none'), 100), 'Error TOOL_NOT_FOUND: There is none');
  for (const kind of ['CALL_INTERRUPTED', 'CONNECTOR_UNREACHABLE', 'REMOTE_TOO_LARGE']) {
    t.regex(resultText(failedResult(kind, 'Lost'), 100), /Lost\nWhether it took effect is not known\./u);
  }
});

test('a longer body is cut between characters, and the text mentions that once', (t) => {
  const mark = '[The result was longer and is cut here.]';
  t.is(resultText(withText('aü👋b'), 8), 'aü👋b');
  t.is(resultText(withText('aü👋b'), 7), `aü👋\n${mark}`);
  t.is(resultText(withText('aü👋b'), 6), `aü\n${mark}`);
  t.is(resultText(withText('aü👋b', { truncated: true }), 2), `a\n${mark}`);
  t.is(resultText(withText('aü👋b', { truncated: true }), 8), `aü👋b\n${mark}`);
});

test('the longer results of an exchange are halved until all are short', (t) => {
  const results = ['short', 'y'.repeat(9_000)].map((text, at) => ({
    callId: String(at),
    name: 'a',
    text,
    isError: false,
  }));
  let messages: ModelMessage[] | undefined = [
    { role: 'assistant', text: 'z'.repeat(9_000) },
    { role: 'tool', results },
  ];
  const lengths: number[] = [];
  for (;;) {
    messages = withShorterResults(messages);
    if (!messages) break;
    const [said, tool] = messages;
    t.is(said?.text?.length, 9_000);
    t.is(tool?.role === 'tool' && tool.results[0]?.text, 'short');
    lengths.push(tool?.role === 'tool' ? (tool.results[1]?.text.length ?? 0) : 0);
  }
  t.is(lengths.length, 3);
  t.true((lengths.at(-1) ?? 0) <= 2_000);
  t.deepEqual(withShorterResults([]), undefined);
});

test('results of older rounds are cut first, in a round the longest, and each says what went wrong', (t) => {
  const round = (...texts: string[]): ModelMessage => ({
    role: 'tool',
    results: texts.map((text, at) => ({ callId: String(at), name: 'a', text, isError: false })),
  });
  const lengthsOf = (messages: readonly ModelMessage[]) =>
    messages.map((message) =>
      message.role === 'tool' ? message.results.map(({ text }) => text.length) : message.text,
    );
  const mark = '\n[The result was longer and is cut here.]';
  const messages: ModelMessage[] = [
    { role: 'assistant', text: 'One.' },
    round(`Error X: lost${'x'.repeat(5_000)}`),
    { role: 'assistant', text: 'Two.' },
    round('y'.repeat(9_000), 'short', 'y'.repeat(3_000)),
  ];
  t.deepEqual(withinBytes(messages, 20_000), messages);
  const older = withinBytes(messages, 14_000);
  t.deepEqual(lengthsOf(older), ['One.', [14_000 - 12_005 + mark.length], 'Two.', [9_000, 5, 3_000]]);
  const both = withinBytes(messages, 10_005);
  t.deepEqual(lengthsOf(both), ['One.', [500 + mark.length], 'Two.', [7_000 + mark.length, 5, 3_000]]);
  t.regex(JSON.stringify(both), /Error X: lost/u);
  t.deepEqual(withinBytes(both, 10_005 + 2 * mark.length + 500), both, 'once');
  t.deepEqual(lengthsOf(withinBytes(messages, 3_005))[3], [1_500 + mark.length, 5, 1_500 + mark.length]);
});
