import { DomainError } from '@parley/kernel/errors';
import test, { type ExecutionContext } from 'ava';
import { type MappingProblem, payloadMapper } from '../src/payload-mapper.ts';

const payload = {
  score: 87,
  strengths: ['clear', 'quick'],
  metadata: { order: { id: 'o-7' }, items: [{ price: 5 }, { price: 15 }], nothing: null },
};

function mapperOf(t: ExecutionContext, options: Parameters<typeof payloadMapper>[0] = {}) {
  const mapper = payloadMapper(options);
  t.teardown(() => mapper.stop());
  return (mapping: Record<string, string>, of: object = payload, tenantId = 1) =>
    mapper.map({ mapping, payload: of }, { tenantId, signal: new AbortController().signal });
}

test('a path for at most one value gives the value or null, and any other path a list', async (t) => {
  const map = mapperOf(t);
  const json = await map({
    points: '$.score',
    'order id': "$['metadata']['order'].id",
    first: '$.strengths[0]',
    none: '$.strengths[7]',
    nothing: '$.metadata.nothing',
    all: '$.strengths[*]',
    dear: '$..items[?@.price > 10].price',
    absent: '$..absent',
    found: "$.strengths[?search(@, 'lea')]",
  });
  t.deepEqual(JSON.parse(json), {
    points: 87,
    'order id': 'o-7',
    first: 'clear',
    none: null,
    nothing: null,
    all: ['clear', 'quick'],
    dear: [15],
    absent: [],
    found: ['clear'],
  });
});

test('a field named __proto__ is a field, and paths reach nothing that JSON does not have', async (t) => {
  const map = mapperOf(t);
  const mapping = JSON.parse('{"__proto__":"$.score","a":"$.__proto__","b":"$.constructor","c":"$.strengths.length"}');
  t.is(await map(mapping), '{"__proto__":87,"a":null,"b":null,"c":null}');
});

/** An object with 60 levels of 20 members each. */
function deep(): object {
  let value: object = {};
  for (let level = 0; level < 60; level += 1) value = { a: value, b: Array.from({ length: 20 }, (_, n) => n) };
  return value;
}

const hostile: [path: string, of: object, problems: MappingProblem[]][] = [
  ['$..*..*..*..*..*', deep(), ['MAPPING_TOO_SLOW', 'MAPPING_TOO_LARGE']],
  ['$..*..*', deep(), ['MAPPING_TOO_LARGE']],
  ["$[?search(@, '(a+)+$')]", [`${'a'.repeat(60)}b`], ['MAPPING_TOO_SLOW']],
  ["$[?match(@, '(a|aa)+')]", [`${'a'.repeat(200)}b`], ['MAPPING_TOO_SLOW']],
  [`$..*[?${'@..*&&'.repeat(60)}$..*]`, deep(), ['MAPPING_TOO_SLOW', 'MAPPING_TOO_LARGE']],
];

test('a hostile path is ended, and the next mapping works', async (t) => {
  const map = mapperOf(t, { maxProcesses: 1, maxCharacters: 50_000 });
  for (const [path, of, problems] of hostile) {
    const error = await t.throwsAsync<Error & { problem: MappingProblem }>(map({ a: path }, of), {
      name: 'MappingError',
    });
    t.true(problems.includes(error?.problem), `${path}: ${error?.problem}`);
    t.false(error instanceof DomainError);
    t.is(await map({ a: '$.score' }), '{"a":87}');
  }
});

test("one tenant's slow mappings leave a process to another", async (t) => {
  const map = mapperOf(t, { maxProcesses: 2 });
  await map({ a: '$.score' });
  const slow = Array.from({ length: 4 }, () => map({ a: "$[?search(@, '(a+)+$')]" }, [`${'a'.repeat(60)}b`], 1));
  const results = Promise.allSettled(slow);
  let ended = 0;
  for (const each of slow) each.catch(() => undefined).finally(() => (ended += 1));
  t.is(await map({ a: '$.score' }, payload, 2), '{"a":87}');
  t.true(ended < 4, 'it did not wait for all of them');
  t.true((await results).every(({ status }) => status === 'rejected'));
});
