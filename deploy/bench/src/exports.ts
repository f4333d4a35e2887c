import { readdirSync, readFileSync } from 'node:fs';
import { type Renderer, renderer } from '@parley/export/renderer';
import { contentOf, conversation, scripts } from '@parley/export/samples';
import { atOnce, type Figure, figure, median, oneByOne, tookMs } from './figures.ts';
import type { BenchOptions } from './processes.ts';

/** The defaults of the settings that limit the rendering of an export. */
const limits = { timeoutMs: 15_000, maxMemoryMb: 768, maxBytes: 50_000_000 };
/** The default of EXPORT_CONCURRENCY. */
const concurrency = 2;
const sampleMs = 10;

/**
 * Measures the rendering of study kits, each in its own process as in the export service: durations, memory of the process, pages and
 * bytes.
 */
export async function exportsFigures({ rounds, short, say }: BenchOptions): Promise<Figure[]> {
  const many = (count: number) => (short ? Math.ceil(count / 100) : count);
  const arabic = Array.from({ length: many(1_000) }, () => scripts.arabic.join(' ').repeat(8).slice(0, 1_000));
  const cases = [
    { name: '30 messages in five scripts', messages: conversation(30) },
    { name: '1,000 messages in five scripts', messages: conversation(many(1_000)) },
    { name: '10,000 messages in five scripts', messages: conversation(many(10_000)) },
    { name: '1,000,000 characters of Arabic', messages: conversation(arabic.length, arabic) },
  ];
  const made = renderer(limits);
  try {
    return [
      ...(
        await oneByOne(cases.length, async (n) => {
          const each = cases[n];
          if (!each) return [];
          say(`${each.name}, ${rounds} rounds`);
          return caseFigures(made, each, rounds);
        })
      ).flat(),
      await rateFigure(made, short),
    ];
  } finally {
    await made.stop();
  }
}

async function caseFigures(
  made: Renderer,
  { name, messages }: { name: string; messages: ReturnType<typeof conversation> },
  rounds: number,
): Promise<Figure[]> {
  const content = made.prepare(contentOf(messages));
  let pages = 0;
  let bytes = 0;
  const times: number[] = [];
  const peaks: number[] = [];
  for (let n = 0; n < rounds; n += 1) {
    const peak = peakOfChildren();
    times.push(
      await tookMs(async () => {
        const rendered = await made.render(content, AbortSignal.timeout(300_000));
        pages = rendered.pages;
        bytes = rendered.pdf.length;
      }),
    );
    peaks.push(peak());
  }
  return [
    figure(`${name}, ${pages} pages`, median(times), 'ms'),
    figure(`${name}, the file`, bytes / 2 ** 10, 'KB'),
    figure(`${name}, most memory of the process`, median(peaks), 'MB', { goal: limits.maxMemoryMb }),
  ];
}

/** Measures how many short sessions one unit renders per minute with the default concurrency. */
async function rateFigure(made: Renderer, short: boolean): Promise<Figure> {
  const content = made.prepare(contentOf(conversation(30)));
  const each = short ? 2 : 30;
  const ms = await tookMs(() =>
    atOnce(concurrency, () => oneByOne(each, () => made.render(content, AbortSignal.timeout(300_000)))),
  );
  return figure(`30 messages, ${concurrency} at once`, (concurrency * each * 60_000) / ms, '/min');
}

/** Samples the memory of child processes. The returned function returns the highest value of any child, in MB. */
function peakOfChildren(): () => number {
  let peakMb = 0;
  const sample = () => {
    for (const pid of childrenOfThis()) peakMb = Math.max(peakMb, highWaterMb(pid));
  };
  const timer = setInterval(sample, sampleMs);
  return () => {
    sample();
    clearInterval(timer);
    return peakMb;
  };
}

function childrenOfThis(): string[] {
  return readdirSync('/proc/self/task').flatMap((task) => {
    const children = readOrEmpty(`/proc/self/task/${task}/children`).trim();
    return children === '' ? [] : children.split(' ');
  });
}

function highWaterMb(pid: string): number {
  return Number(/^VmHWM:\s+(\d+) kB$/mu.exec(readOrEmpty(`/proc/${pid}/status`))?.[1] ?? 0) / 1_024;
}

function readOrEmpty(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return ''; // the process has ended
  }
}
