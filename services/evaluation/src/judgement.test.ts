import test from 'ava';
import { judgementSchema, readJudgement } from './judgement.ts';

const labels = ['HIRE', 'HOLD'];
const right = { score: 50, summary: 'Fine.', strengths: ['a'], weaknesses: [], recommendation: 'HOLD' };
const read = (change: Record<string, unknown>) => readJudgement(JSON.stringify({ ...right, ...change }), labels);

test('an answer that fits is a judgement, trimmed, with or without a fence around it', (t) => {
  t.deepEqual(readJudgement(JSON.stringify(right), labels), right);
  t.deepEqual(readJudgement(`\n\`\`\`json\n${JSON.stringify(right)}\n\`\`\`\n`, labels), right);
  t.deepEqual(readJudgement(`\`\`\`\n${JSON.stringify(right)}\`\`\``, labels), right);
  t.deepEqual(read({ summary: ' Fine. ', strengths: [' a'], remark: 'dropped' }), right);
  t.is(read({ score: 0 })?.score, 0);
  t.is(read({ score: 100 })?.score, 100);
});

test('an answer that does not fit is none', (t) => {
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

test('what cannot be stored does not fit, and what only looks like it does', (t) => {
  for (const text of ['\0', 'a\0b', '\ud800', '\udfffx']) {
    t.is(read({ summary: `x${text}` }), undefined);
    t.is(read({ strengths: [`x${text}`] }), undefined);
  }
  for (const text of ['\\u0000', '\\ud800', '🦜', '"quoted"']) t.is(read({ summary: text })?.summary, text);
});

test('where no label is wanted the recommendation is empty', (t) => {
  t.deepEqual(readJudgement(JSON.stringify({ ...right, recommendation: '' }), []), { ...right, recommendation: '' });
  t.is(readJudgement(JSON.stringify(right), []), undefined);
});

test('the model is asked for exactly that', (t) => {
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
