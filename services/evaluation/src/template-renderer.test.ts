import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { eventually } from '@parley/testing/eventually';
import test, { type ExecutionContext } from 'ava';
import { type Rendering, startRendererProcess, TemplateError } from './renderer-process.ts';
import { type TemplateRendererOptions, templateRenderer } from './template-renderer.ts';

const signal = new AbortController().signal;

function rendererOf(t: ExecutionContext, options: TemplateRendererOptions = {}) {
  const renderer = templateRenderer(options);
  t.teardown(() => renderer.stop());
  return {
    ...renderer,
    of: (tenantId: number, template: string, rest: Partial<Rendering> = {}, callerSignal = signal) =>
      renderer.render(
        { template, scope: {}, timeoutMs: 10_000, maxCharacters: 1_000, ...rest },
        { tenantId, signal: callerSignal },
      ),
  };
}

/** A list that contains itself: as text it has 3^n elements, but liquidjs counts 2n. */
const selfNestedList = (n: number, name = 'a') =>
  `{% assign ${name} = "" | split: "" %}{% for i in (1..${n}) %}{% assign ${name} = ${name} | push: ${name} | push: ${name} %}{% endfor %}`;

/** Makes x 256 MB long. No limit counts these bytes, because V8 concatenates strings only on first use. */
const longText = `{% assign x = "aaaaaaaa" %}${'{% capture x %}{{ x }}{{ x }}{% endcapture %}'.repeat(25)}`;

const endless: [string, string][] = [
  ['a list that holds itself, written', `${selfNestedList(18)}{{ a }}`],
  ['sorted', `${selfNestedList(18)}{{ a | sort }}`],
  ['joined', `${selfNestedList(30)}{{ a | join: "" }}`],
  ['taken for a number', `${selfNestedList(18)}{{ a | plus: 1 }}`],
  ['taken for a date', `${selfNestedList(18)}{{ a | date: "%Y" }}`],
  ['compared', `${selfNestedList(18)}${selfNestedList(18, 'c')}{% if a == c %}{% endif %}`],
  ['a long list that is grouped', '{% assign a = (1..1000000) | group_by: "x" %}{{ a | group_by: "x" }}'],
  ['loops', '{% for i in (1..100000) %}{% for j in (1..100000) %}{% endfor %}{% endfor %}'],
];

// Serial, because other tests' work on this event loop would be measured too.
test.serial('an endless template is stopped at its timeout without blocking the event loop', async (t) => {
  const renderer = rendererOf(t, { killAfterMs: 100_000 });
  await renderer.of(1, 'started');
  for (const [what, template] of endless) {
    let last = performance.now();
    let longestGap = 0;
    const tick = () => {
      longestGap = Math.max(longestGap, performance.now() - last);
      last = performance.now();
    };
    const timer = setInterval(tick, 1);
    const begun = performance.now();
    await t.throwsAsync(
      renderer.of(1, template, { timeoutMs: 150 }),
      { instanceOf: TemplateError, message: 'too slow' },
      what,
    );
    clearInterval(timer);
    tick();
    const took = performance.now() - begun;
    t.true(longestGap < 0.9 * took, `${what}: ${longestGap} of ${took} ms`);
    t.true(took < 30_000, `${what}: ${took} ms`); // without the timeout, most of these templates would take hours
  }
  t.like(await renderer.of(1, 'and {{ 1 | plus: 1 }}'), { text: 'and 2' });
});

test('a template that exhausts memory ends only its process, and the next one is rendered', async (t) => {
  const renderer = rendererOf(t);
  const compared = `${longText}${longText.replaceAll('x', 'y')}{% if x == y %}{% endif %}`;
  await t.throwsAsync(renderer.of(1, compared), { instanceOf: TemplateError, message: 'too much memory' });
  t.like(await renderer.of(1, 'next'), { text: 'next' });
});

test('a tenant with endless templates delays another by one rendering only', async (t) => {
  const renderer = rendererOf(t, { maxProcesses: 1 });
  const done: string[] = [];
  const renderEndless = async (name: string) => {
    await t.throwsAsync(renderer.of(1, `${selfNestedList(30)}{{ a | join: "" }}`, { timeoutMs: 50 }));
    done.push(name);
  };
  const other = async () => {
    t.like(await renderer.of(2, '{{ "b" | upcase }}'), { text: 'B' });
    done.push('other');
  };
  await Promise.all([renderEndless('first'), renderEndless('second'), renderEndless('third'), other()]);
  t.deepEqual(done, ['first', 'other', 'second', 'third']);
});

test('a tenant never uses all processes, and `stop` ends running renderings', async (t) => {
  const renderer = rendererOf(t, { maxProcesses: 2 });
  const template = `${selfNestedList(30)}{{ a | join: "" }}`;
  const endlessCalls = [1, 1].map((tenantId) => t.throwsAsync(renderer.of(tenantId, template, { timeoutMs: 60_000 })));
  t.like(await renderer.of(2, 'other'), { text: 'other' });

  await renderer.stop();
  for (const error of await Promise.all(endlessCalls)) t.false(error instanceof TemplateError, error.message);
  await renderer.start();
  t.like(await renderer.of(1, 'again'), { text: 'again' });
});

test('a cancelled rendering leaves the queue', async (t) => {
  const renderer = rendererOf(t, { maxProcesses: 1 });
  const caller = new AbortController();
  const first = renderer.of(1, 'first', {}, caller.signal);
  const waitingCall = renderer.of(2, 'leaving', {}, caller.signal);
  caller.abort(new Error('gone'));
  await t.throwsAsync(waitingCall, { message: 'gone' });
  await t.throwsAsync(renderer.of(3, 'late', {}, caller.signal), { message: 'gone' });
  t.like(await first, { text: 'first' });
});

test('a text that is too long returns its length only, and errors do not quote the template', async (t) => {
  const renderer = rendererOf(t);
  t.like(await renderer.of(1, '{% for i in (1..1001) %}1{% endfor %}'), { characters: 1_001, text: undefined });
  await t.throwsAsync(renderer.of(1, '{{ "secret" | nosuchfilter }}'), {
    instanceOf: TemplateError,
    message: 'ParseError',
  });
  await t.throwsAsync(renderer.of(1, '{{ "secret" '), { instanceOf: TemplateError, message: 'TokenizationError' });
});

test('a process that does not respond is killed', async (t) => {
  const stuck = startRendererProcess({ heapMb: 128, killAfterMs: 100 });
  t.teardown(() => stuck.end());
  const task = { template: '', scope: {}, maxCharacters: 10 };
  await stuck.render({ ...task, timeoutMs: 60_000 });
  process.kill(stuck.pid ?? 0, 'SIGSTOP');
  await t.throwsAsync(stuck.render({ ...task, timeoutMs: 100 }), { instanceOf: TemplateError, message: 'too slow' });
  t.true(stuck.ended);
});

test('a process that does not start is killed, and its rendering fails', async (t) => {
  const stuck = startRendererProcess({ heapMb: 128, killAfterMs: 60_000, startTimeoutMs: 50 });
  t.teardown(() => stuck.end());
  process.kill(stuck.pid ?? 0, 'SIGSTOP');
  const task = { template: '', scope: {}, timeoutMs: 60_000, maxCharacters: 10 };
  await t.throwsAsync(stuck.render(task), { message: /did not start within 50 ms/ });
  t.true(stuck.ended);
});

const linuxTest = process.platform === 'linux' ? test : test.skip;

linuxTest('a rendering ends soon after its service was killed', async (t) => {
  const service = spawn(
    process.execPath,
    [
      '--input-type=module',
      '--eval',
      `import { startRendererProcess } from ${JSON.stringify(import.meta.resolve('./renderer-process.ts'))};
      const renderer = startRendererProcess({ heapMb: 128, killAfterMs: 60_000 });
      const task = { template: '', scope: {}, timeoutMs: 2_000, maxCharacters: 10 };
      await renderer.render(task);
      const rendering = renderer.render({ ...task, template: ${JSON.stringify(`${selfNestedList(30)}{{ a | join: "" }}`)} });
      await new Promise(setImmediate); // the task has been sent to the process
      console.log(renderer.pid);
      await rendering;`,
    ],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  t.teardown(() => service.kill('SIGKILL'));
  const [pid] = await once(service.stdout, 'data');
  service.kill('SIGKILL');
  t.true(await eventually('the renderer has ended', () => isGone(Number(pid))));
});

function isGone(pid: number): boolean {
  try {
    return /^State:\tZ/mu.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return true;
  }
}
