import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { eventually } from '@parley/testing/eventually';
import test, { type ExecutionContext } from 'ava';
import { type Rendering, startRendererProcess, TemplateProblem } from './renderer-process.ts';
import { type TemplateRendererOptions, templateRenderer } from './template-renderer.ts';

const signal = new AbortController().signal;

function rendererOf(t: ExecutionContext, options: TemplateRendererOptions = {}) {
  const renderer = templateRenderer(options);
  t.teardown(() => renderer.stop());
  return {
    ...renderer,
    of: (tenantId: number, template: string, rest: Partial<Rendering> = {}, gone = signal) =>
      renderer.render(
        { template, scope: {}, withinMs: 10_000, mostCharacters: 1_000, ...rest },
        { tenantId, signal: gone },
      ),
  };
}

/** A list that holds itself: written out it has 3^n parts. liquidjs counts 2n. */
const listInItself = (n: number, name = 'a') =>
  `{% assign ${name} = "" | split: "" %}{% for i in (1..${n}) %}{% assign ${name} = ${name} | push: ${name} | push: ${name} %}{% endfor %}`;

/** Makes x 256 MB long, of which no limit knows: parts are put together when they are looked at. */
const longText = `{% assign x = "aaaaaaaa" %}${'{% capture x %}{{ x }}{{ x }}{% endcapture %}'.repeat(25)}`;

const endless: [string, string][] = [
  ['a list that holds itself, written', `${listInItself(18)}{{ a }}`],
  ['sorted', `${listInItself(18)}{{ a | sort }}`],
  ['joined', `${listInItself(30)}{{ a | join: "" }}`],
  ['taken for a number', `${listInItself(18)}{{ a | plus: 1 }}`],
  ['taken for a date', `${listInItself(18)}{{ a | date: "%Y" }}`],
  ['compared', `${listInItself(18)}${listInItself(18, 'c')}{% if a == c %}{% endif %}`],
  ['a long list that is grouped', '{% assign a = (1..1000000) | group_by: "x" %}{{ a | group_by: "x" }}'],
  ['loops', '{% for i in (1..100000) %}{% for j in (1..100000) %}{% endfor %}{% endfor %}'],
];

// By itself: what other tests do on this event loop meanwhile would count.
test.serial('a template that would go on is ended when its time is over, and the event loop stays free', async (t) => {
  const renderer = rendererOf(t, { patienceMs: 100_000 });
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
      renderer.of(1, template, { withinMs: 150 }),
      { instanceOf: TemplateProblem, message: 'too slow' },
      what,
    );
    clearInterval(timer);
    tick();
    const took = performance.now() - begun;
    t.true(longestGap < 0.9 * took, `${what}: ${longestGap} of ${took} ms`);
    t.true(took < 30_000, `${what}: ${took} ms`); // most of them take hours
  }
  t.like(await renderer.of(1, 'and {{ 1 | plus: 1 }}'), { text: 'and 2' });
});

test('a template that takes all memory ends only its own process, and the next one is rendered', async (t) => {
  const renderer = rendererOf(t);
  const compared = `${longText}${longText.replaceAll('x', 'y')}{% if x == y %}{% endif %}`;
  await t.throwsAsync(renderer.of(1, compared), { instanceOf: TemplateProblem, message: 'too much memory' });
  t.like(await renderer.of(1, 'next'), { text: 'next' });
});

test('tenants take turns: one whose templates go on delays another by one of them', async (t) => {
  const renderer = rendererOf(t, { atOnce: 1 });
  const done: string[] = [];
  const goingOn = async (name: string) => {
    await t.throwsAsync(renderer.of(1, `${listInItself(30)}{{ a | join: "" }}`, { withinMs: 50 }));
    done.push(name);
  };
  const other = async () => {
    t.like(await renderer.of(2, '{{ "b" | upcase }}'), { text: 'B' });
    done.push('other');
  };
  await Promise.all([goingOn('first'), goingOn('second'), goingOn('third'), other()]);
  t.deepEqual(done, ['first', 'other', 'second', 'third']);
});

test('a tenant never has all processes, and a stop ends what is being rendered', async (t) => {
  const renderer = rendererOf(t, { atOnce: 2 });
  const template = `${listInItself(30)}{{ a | join: "" }}`;
  const held = [1, 1].map((tenantId) => t.throwsAsync(renderer.of(tenantId, template, { withinMs: 60_000 })));
  t.like(await renderer.of(2, 'other'), { text: 'other' });

  await renderer.stop();
  for (const error of await Promise.all(held)) t.false(error instanceof TemplateProblem, error.message);
  await renderer.start();
  t.like(await renderer.of(1, 'again'), { text: 'again' });
});

test('who has gone leaves the queue', async (t) => {
  const renderer = rendererOf(t, { atOnce: 1 });
  const going = new AbortController();
  const first = renderer.of(1, 'first', {}, going.signal);
  const leaving = renderer.of(2, 'leaving', {}, going.signal);
  going.abort(new Error('gone'));
  await t.throwsAsync(leaving, { message: 'gone' });
  await t.throwsAsync(renderer.of(3, 'late', {}, going.signal), { message: 'gone' });
  t.like(await first, { text: 'first' });
});

test('of a text that is too long only the length comes back, and of a wrong template no word', async (t) => {
  const renderer = rendererOf(t);
  t.like(await renderer.of(1, '{% for i in (1..1001) %}1{% endfor %}'), { characters: 1_001, text: undefined });
  await t.throwsAsync(renderer.of(1, '{{ "secret" | nosuchfilter }}'), {
    instanceOf: TemplateProblem,
    message: 'ParseError',
  });
  await t.throwsAsync(renderer.of(1, '{{ "secret" '), { instanceOf: TemplateProblem, message: 'TokenizationError' });
});

test('a process that does not end by itself is killed', async (t) => {
  const stuck = startRendererProcess({ heapMb: 128, patienceMs: 100 });
  t.teardown(() => stuck.end());
  const task = { template: '', scope: {}, mostCharacters: 10 };
  await stuck.render({ ...task, withinMs: 60_000 });
  process.kill(stuck.pid ?? 0, 'SIGSTOP');
  await t.throwsAsync(stuck.render({ ...task, withinMs: 100 }), { instanceOf: TemplateProblem, message: 'too slow' });
  t.true(stuck.ended);
});

test('a process that does not start is killed, and whoever waits for it is told', async (t) => {
  const stuck = startRendererProcess({ heapMb: 128, patienceMs: 60_000, startWithinMs: 50 });
  t.teardown(() => stuck.end());
  process.kill(stuck.pid ?? 0, 'SIGSTOP');
  const task = { template: '', scope: {}, withinMs: 60_000, mostCharacters: 10 };
  await t.throwsAsync(stuck.render(task), { message: /did not start within 50 ms/ });
  t.true(stuck.ended);
});

const linuxTest = process.platform === 'linux' ? test : test.skip;

linuxTest('what is being rendered ends soon after a service that was killed', async (t) => {
  const service = spawn(
    process.execPath,
    [
      '--input-type=module',
      '--eval',
      `import { startRendererProcess } from ${JSON.stringify(import.meta.resolve('./renderer-process.ts'))};
      const renderer = startRendererProcess({ heapMb: 128, patienceMs: 60_000 });
      const task = { template: '', scope: {}, withinMs: 2_000, mostCharacters: 10 };
      await renderer.render(task);
      const going = renderer.render({ ...task, template: ${JSON.stringify(`${listInItself(30)}{{ a | join: "" }}`)} });
      await new Promise(setImmediate); // it has been sent
      console.log(renderer.pid);
      await going;`,
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
