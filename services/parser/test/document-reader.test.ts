import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync } from 'node:fs';
import { createServer } from 'node:net';
import { getPriority } from 'node:os';
import { text } from 'node:stream/consumers';
import { eventually } from '@parley/testing/eventually';
import test, { type ExecutionContext } from 'ava';
import { type DocumentReaderOptions, documentReader } from '../src/document-reader.ts';
import { FileProblem } from '../src/file-problem.ts';
import { type ReaderProcess, readerArguments, startReaderProcess } from '../src/reader-process.ts';
import { makePackedBlanks } from './make-bombs.ts';
import { paragraph } from './make-documents.ts';
import { makeZip } from './make-zip.ts';
import { usualLimits } from './read.ts';
import { sampleDocx } from './samples.ts';

const signal = new AbortController().signal;
const markdown = { type: 'markdown', bytes: Buffer.from('text') } as const;
/** A file that takes longer to read than the time limit. */
const endless = { type: 'pdf', bytes: makePackedBlanks() } as const;

function readerOf(t: ExecutionContext, options: Partial<DocumentReaderOptions> = {}) {
  const started: ReaderProcess[] = [];
  const reader = documentReader({ ...usualLimits, maxProcesses: 2, ...options }, (limits) => {
    const process = startReaderProcess(limits);
    started.push(process);
    return process;
  });
  t.teardown(() => reader.stop());
  return { ...reader, started, of: (tenantId: number, file = markdown) => reader.read(file, { tenantId, signal }) };
}

test('a process reads the next file of the same tenant, never a file of another tenant', async (t) => {
  const reader = readerOf(t);
  for (const tenantId of [1, 1, 2, 1]) t.is((await reader.of(tenantId)).text, 'text');
  t.is(reader.started.length, 2);
  await reader.of(3);
  t.is(reader.started.length, 3);
  t.deepEqual(
    reader.started.map(({ ended }) => ended),
    [false, true, false], // the process of tenant 2 had been idle for longer than that of tenant 1
  );
});

test('a process reads the next file unless nearly all of its memory is in use', async (t) => {
  const reader = readerOf(t);
  await reader.of(1);
  for (const [share, processes] of [
    [0.85, 1],
    [0.95, 2],
  ] as const) {
    Object.assign(reader.started[0] ?? {}, { residentMb: () => share * usualLimits.maxMemoryMb });
    await reader.of(1);
    await reader.of(1);
    t.is(reader.started.length, processes);
  }
});

test('a file that exhausts a used process is read again in a new process', async (t) => {
  const reader = readerOf(t, { maxMemoryMb: 256 });
  await reader.of(1);
  const error = await t.throwsAsync(reader.read(endless, { tenantId: 1, signal }), { instanceOf: FileProblem });
  t.is(error.problem, 'tooMuchMemory');
  t.is(reader.started.length, 2);
  await t.throwsAsync(reader.read(endless, { tenantId: 1, signal }), { message: 'tooMuchMemory' });
  t.is(reader.started.length, 3); // a new process read the file again
});

test('a Word document of 12,000 paragraphs is read within 256 MB', async (t) => {
  const reader = readerOf(t, { maxMemoryMb: 256 });
  const { text } = await reader.read({ type: 'docx', bytes: sampleDocx(12_000) }, { tenantId: 1, signal });
  t.true(text.includes('Heading 11980'));
});

test('after a problem the process is ended', async (t) => {
  const reader = readerOf(t);
  await t.throwsAsync(reader.of(1, { ...markdown, bytes: Buffer.from('') }), { message: 'empty' });
  await reader.of(1);
  t.deepEqual(
    reader.started.map(({ ended }) => ended),
    [true, false],
  );
});

test('a process that was idle for its maximum time is ended', async (t) => {
  const reader = readerOf(t, { idleMs: 10 });
  await reader.of(1);
  t.true(await eventually('it has ended', () => reader.started[0]?.ended));
});

test('all threads of a reader have a lower priority', async (t) => {
  const reader = readerOf(t);
  await reader.of(1);
  const pid = String(reader.started[0]?.pid);
  const threads = `/proc/${pid}/task`;
  for (const id of existsSync(threads) ? readdirSync(threads) : [pid])
    t.is(getPriority(Number(id)), Math.min(19, getPriority() + 5));
});

test('a file that takes too long is tooSlow, even if its process does not respond', async (t) => {
  const reader = readerOf(t, { timeoutMs: 1_000, maxMemoryMb: 4_096 });
  const error = await t.throwsAsync(reader.read(endless, { tenantId: 1, signal }), { instanceOf: FileProblem });
  t.is(error.problem, 'tooSlow');
});

/** Creates a reader whose only process is paused by SIGSTOP, as if it got no processor time. `proceed` resumes the process. */
async function starvedReader(t: ExecutionContext, timeoutMs: number) {
  const reader = readerOf(t, { timeoutMs });
  await reader.of(1);
  const signalTo = (name: NodeJS.Signals) => process.kill(reader.started[0]?.pid ?? 0, name);
  signalTo('SIGSTOP');
  return { ...reader, proceed: () => signalTo('SIGCONT') };
}

test('a file does not fail if its process waits for a processor longer than the time limit', async (t) => {
  const timeoutMs = 1_000;
  const reader = await starvedReader(t, timeoutMs);
  const begunAt = performance.now();
  const reading = reader.of(1);
  await eventually('its time has passed', () => performance.now() - begunAt > 1.5 * timeoutMs);
  reader.proceed();
  t.is((await reading).text, 'text');
  t.is(reader.started.length, 1);
});

test('a process that gets no processor time at all is ended', async (t) => {
  const reader = await starvedReader(t, 300);
  await t.throwsAsync(reader.of(1), { instanceOf: FileProblem, message: 'tooSlow' });
});

test('an aborted reading kills its process and rejects with the reason', async (t) => {
  const reader = readerOf(t, { maxMemoryMb: 4_096 });
  const controller = new AbortController();
  const reading = reader.read(endless, { tenantId: 1, signal: controller.signal });
  await eventually('it reads', () => (reader.started[0]?.residentMb() ?? 0) > 200, { timeoutMs: 60_000 });
  controller.abort(new Error('handed over'));
  await t.throwsAsync(reading, { message: 'handed over' });
  t.true(reader.started[0]?.ended);
  await t.throwsAsync(reader.read(markdown, { tenantId: 1, signal: controller.signal }), { message: 'handed over' });
});

test('a file does not fail if another program kills its process', async (t) => {
  const reader = readerOf(t, { maxMemoryMb: 4_096 });
  const reading = reader.read(endless, { tenantId: 1, signal });
  await eventually('it reads', () => (reader.started[0]?.residentMb() ?? 0) > 200, { timeoutMs: 60_000 });
  process.kill(reader.started[0]?.pid ?? 0, 'SIGKILL');
  const error = await t.throwsAsync(reading, { message: /was ended by SIGKILL/ });
  t.false(error instanceof FileProblem);
});

test('`stop` ends running readings, and `start` allows new ones', async (t) => {
  const reader = readerOf(t, { maxMemoryMb: 4_096 });
  const reading = t.throwsAsync(reader.read(endless, { tenantId: 1, signal }));
  await reader.stop();
  t.false((await reading) instanceof FileProblem);
  t.true(reader.started.every(({ ended }) => ended));
  await t.throwsAsync(reader.of(1), { message: 'No files are read any more' });
  await reader.start();
  t.is((await reader.of(1)).text, 'text');
});

/** Runs code in a process with a reader's permissions. */
async function attempt(t: ExecutionContext, code: string): Promise<string> {
  const child = spawn(process.execPath, [...readerArguments(usualLimits), '--input-type=module', '--eval', code], {
    env: {},
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.teardown(() => child.kill('SIGKILL'));
  return (await text(child.stdout)).trim();
}

test('a reader cannot read other files, write, start processes or threads, or evaluate text as code', async (t) => {
  const outcome = await attempt(
    t,
    `import { readFileSync, writeFileSync } from 'node:fs';
    import { spawnSync } from 'node:child_process';
    import { Worker } from 'node:worker_threads';
    const attempts = {
      read: () => readFileSync('/etc/hostname'),
      environment: () => readFileSync('/proc/' + process.ppid + '/environ'),
      checkout: () => readFileSync(${JSON.stringify(`${import.meta.dirname}/../../../package.json`)}),
      write: () => writeFileSync(${JSON.stringify(`${import.meta.dirname}/x`)}, ''),
      process: () => spawnSync('true'),
      thread: () => new Worker('0', { eval: true }),
      code: () => new Function('return 1')(),
    };
    for (const [name, attempt] of Object.entries(attempts)) {
      try { attempt(); console.log(name, 'done'); } catch (error) { console.log(name, error.code ?? error.name); }
    }`,
  );
  t.deepEqual(outcome.split('\n'), [
    'read ERR_ACCESS_DENIED',
    'environment ERR_ACCESS_DENIED',
    'checkout ERR_ACCESS_DENIED',
    'write ERR_ACCESS_DENIED',
    'process ERR_ACCESS_DENIED',
    'thread ERR_ACCESS_DENIED',
    'code EvalError',
  ]);
});

test('a reader has no access to the network', async (t) => {
  let connections = 0;
  const server = createServer((socket) => {
    connections += 1;
    socket.destroy();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : 0;
  const outcome = await attempt(
    t,
    `import ${JSON.stringify(import.meta.resolve('../src/reader-main.ts'))};
    const { connect } = await import('node:net');
    const { lookup } = await import('node:dns/promises');
    const { createSocket } = await import('node:dgram');
    const { get } = await import('node:http');
    const attempts = {
      fetch: () => fetch('http://127.0.0.1:${port}/'),
      socket: () => connect(${port}, '127.0.0.1'),
      http: () => get('http://127.0.0.1:${port}/'),
      lookup: () => lookup('localhost'),
      datagram: () => createSocket('udp4').send('a', ${port}, '127.0.0.1'),
      webSocket: () => new Promise((resolve, reject) => { const socket = new WebSocket('ws://127.0.0.1:${port}'); socket.onopen = resolve; socket.onerror = reject; }),
    };
    for (const [name, attempt] of Object.entries(attempts)) {
      try { await attempt(); console.log(name, 'done'); } catch { console.log(name, 'refused'); }
    }
    process.exit();`,
  );
  t.deepEqual(
    outcome.split('\n'),
    ['fetch', 'socket', 'http', 'lookup', 'datagram', 'webSocket'].map((name) => `${name} refused`),
  );
  t.is(connections, 0);
});

test('links in a document are not fetched', async (t) => {
  let connections = 0;
  const server = createServer(() => {
    connections += 1;
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  const address = server.address();
  const url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}/x.png`;
  const picture = `<w:p><w:r><w:drawing><wp:inline xmlns:wp="http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing"><a:graphic xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"><a:graphicData><pic:pic xmlns:pic="http://schemas.openxmlformats.org/drawingml/2006/picture"><pic:blipFill><a:blip r:link="rId9"/></pic:blipFill></pic:pic></a:graphicData></a:graphic></wp:inline></w:drawing></w:r></w:p>`;
  const type = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';
  const { docxEntries } = await import('./make-documents.ts');
  const entries = docxEntries(paragraph('text') + picture).map((entry) =>
    entry.name === 'word/_rels/document.xml.rels'
      ? {
          ...entry,
          content: String(entry.content).replace(
            '</Relationships>',
            `<Relationship Id="rId9" Type="${type}/image" Target="${url}" TargetMode="External"/><Relationship Id="rId10" Type="${type}/attachedTemplate" Target="${url}" TargetMode="External"/></Relationships>`,
          ),
        }
      : entry,
  );
  const reader = readerOf(t);
  t.is((await reader.read({ type: 'docx', bytes: makeZip(entries) }, { tenantId: 1, signal })).text, 'text\n\n');
  t.is(connections, 0);
});
