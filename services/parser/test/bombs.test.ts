import test from 'ava';
import { type DocumentReader, documentReader } from '../src/document-reader.ts';
import { FileProblem, type ReadLimits } from '../src/file-problem.ts';
import { bombs } from './make-bombs.ts';
import { headingOf, makeDocx, paragraph } from './make-documents.ts';
import { usualLimits } from './read.ts';

const signal = new AbortController().signal;
const goodFile = { type: 'docx', bytes: makeDocx(headingOf(1, 'Good') + paragraph('text')) } as const;
const goodText = { text: '# Good\n\ntext\n\n', pageStarts: [] };

const started: DocumentReader[] = [];
const shared = new Map<string, DocumentReader>();

test.after.always(() => Promise.all(started.map((reader) => reader.stop())));

function startReader(limits: Partial<ReadLimits>, maxProcesses: number): DocumentReader {
  const reader = documentReader({ ...usualLimits, ...limits, maxProcesses });
  started.push(reader);
  return reader;
}

/**
 * Returns the reader that tests with the same limits share. Each bomb is read by the process that has read a good document just before. So
 * a bomb ends one process; only a bomb that exhausts its memory also ends a second, new process.
 */
function sharedReader(limits: Partial<ReadLimits> = {}): DocumentReader {
  const key = JSON.stringify(limits);
  const reader = shared.get(key) ?? startReader(limits, 2);
  shared.set(key, reader);
  return reader;
}

for (const { what, type, make, problem, limits } of bombs) {
  test.serial(`${what} has the problem ${problem}, and the next document of the tenant is read`, async (t) => {
    const reader = problem === 'tooMuchMemory' ? startReader({ ...limits }, 2) : sharedReader(limits);
    const of = { tenantId: 1, signal };
    const error = await t.throwsAsync(reader.read({ type, bytes: make() }, of), { instanceOf: FileProblem });
    t.is(error.problem, problem);
    t.deepEqual(await reader.read(goodFile, of), goodText);
  });
}

const eight = [
  'a page of packed blanks',
  'a Word document of five million paragraphs without text',
  'a CSV file of empty cells',
  'entities of entities in a Word document',
  'entities of entities in a workbook',
  'a part that is larger than it declares',
  'parts that overlap',
  'a Markdown file that is too long',
];

test.serial(
  'eight concurrent bombs each have their problem, good documents among them are read, and the event loop responds',
  async (t) => {
    const reader = startReader({ maxMemoryMb: 256 }, 10);
    const files = eight.map((what) => {
      const bomb = bombs.find((each) => each.what === what);
      if (!bomb) throw new Error(`no bomb: ${what}`);
      return { ...bomb, bytes: bomb.make() };
    });
    const before = performance.eventLoopUtilization();
    const problems = files.map(async ({ type, bytes }) => {
      const error = await t.throwsAsync(reader.read({ type, bytes }, { tenantId: 1, signal }), {
        instanceOf: FileProblem,
      });
      return error.problem;
    });
    const good = [2, 3].map((tenantId) => reader.read(goodFile, { tenantId, signal }));
    for (const read of await Promise.all(good)) t.deepEqual(read, goodText);
    t.deepEqual(
      await Promise.all(problems),
      files.map(({ problem }) => problem),
    );
    // The share of time in which the event loop was blocked; it would be 1 if the files were read in this process.
    const { utilization } = performance.eventLoopUtilization(before);
    t.true(utilization < 0.6, `${utilization}`);
  },
);
