import test from 'ava';
import { judgementSchema, readJudgement } from './judgement.ts';

const labels = ['HIRE', 'HOLD'];
const right = { score: 50, summary: 'Fine.', strengths: ['a'], weaknesses: [], recommendation: 'HOLD' };
const read = (change: Record<string, unknown>) => readJudgement(JSON.stringify({ ...right, ...change }), labels);

test('a valid answer is parsed and trimmed, with or without a code fence', (t) => {
  t.deepEqual(readJudgement(JSON.stringify(right), labels), right);
  t.deepEqual(readJudgement(`\n\`\`\`json\n${JSON.stringify(right)}\n\`\`\`\n`, labels), right);
  t.deepEqual(readJudgement(`\`\`\`\n${JSON.stringify(right)}\`\`\``, labels), right);
  t.deepEqual(read({ summary: ' Fine. ', strengths: [' a'], remark: 'dropped' }), right);
  t.is(read({ score: 0 })?.score, 0);
  t.is(read({ score: 100 })?.score, 100);
});

test('an invalid answer is refused', (t) => {
  for (const change of [
    { score: 101 },
    { score: -1 },
    { score: 50.5 },
    { score: '50' },
    { score: null },
    { summary: ' ' },
    { summary: 'x'.repeat(7_701) },
    { strengths: 'a' },
    { strengths: [''] },
    { weaknesses: Array.from({ length: 21 }, () => 'a') },
    { weaknesses: ['x'.repeat(1_001)] },
    { weaknesses: undefined },
    { recommendation: 'hold' },
    { recommendation: '' },
  ]) {
    t.is(read(change), undefined, JSON.stringify(change));
  }
  for (const text of ['', 'null', '[]', '7', 'I think: {"score": 1}', JSON.stringify([right]), '{"score":']) {
    t.is(readJudgement(text, labels), undefined, text);
  }
});

test('NUL and lone surrogates are refused, but not their escapes as text', (t) => {
  for (const text of ['\0', 'a\0b', '\ud800', '\udfffx']) {
    t.is(read({ summary: `x${text}` }), undefined);
    t.is(read({ strengths: [`x${text}`] }), undefined);
  }
  for (const text of ['\\u0000', '\\ud800', '🦜', '"quoted"']) t.is(read({ summary: text })?.summary, text);
});

test('without labels the recommendation must be empty', (t) => {
  t.deepEqual(readJudgement(JSON.stringify({ ...right, recommendation: '' }), []), { ...right, recommendation: '' });
  t.is(readJudgement(JSON.stringify(right), []), undefined);
});

test('the JSON Schema states the same rules', (t) => {
  const schema = judgementSchema(labels);
  t.like(schema, {
    type: 'object',
    required: ['score', 'summary', 'strengths', 'weaknesses', 'recommendation'],
    properties: {
      score: { type: 'integer', minimum: 0, maximum: 100 },
      recommendation: { type: 'string', enum: labels },
    },
  });
  t.like(judgementSchema([]), { properties: { recommendation: { const: '' } } });
});
