import { isNativeError } from 'node:util/types';
import { createContext, Script } from 'node:vm';
import { plainTextForm, templateEngine } from '@parley/text/template-engine';
import type { RendererAnswer, Rendering } from './renderer-process.ts';
import type { TranscriptLine } from './transcript.ts';

// What `renderer-process.ts` runs in a process of its own.

const templates = templateEngine(textForm);

/** Several renderings of one template follow each other: it is parsed once. */
let last: { text: string; parsed: ReturnType<typeof templates.parse> } | undefined;

/** V8 ends what runs in here when its time is over, also inside a sort or a join, which liquidjs' own limits do not see. */
const limited = { work: (): RendererAnswer => ({ problem: 'unknown' }) };
const context = createContext(limited);
const script = new Script('work()');

function answerTo(task: Rendering): RendererAnswer {
  limited.work = () => rendered(task);
  try {
    return script.runInContext(context, { timeout: Math.max(1, Math.ceil(task.withinMs)) });
  } catch (error) {
    return { problem: problemOf(error) };
  }
}

function rendered({ template, scope, withinMs, mostCharacters }: Rendering): RendererAnswer {
  const begun = performance.now();
  if (last?.text !== template) last = { text: template, parsed: templates.parse(template) };
  const renderLimit = withinMs - (performance.now() - begun);
  const text = String(templates.renderSync(last.parsed, scope, { renderLimit }));
  const tookMs = performance.now() - begun;
  return text.length > mostCharacters ? { characters: text.length, tookMs } : { text, tookMs };
}

/** In words that quote nothing of the template. */
function problemOf(error: unknown): string {
  if (!isNativeError(error)) return 'unknown'; // no `instanceof`: that of V8's own limit is made in the context
  if ('code' in error && error.code === 'ERR_SCRIPT_EXECUTION_TIMEOUT') return 'too slow';
  if (error.message.startsWith('template render limit exceeded')) return 'too slow';
  if (error.message.startsWith('memory alloc limit exceeded')) return 'too much memory';
  return error.name;
}

/** Lines of a transcript are written as they were said, one below the other. */
function textForm(value: unknown): string {
  if (isLine(value)) return `${value.role}: ${value.text}`;
  if (Array.isArray(value) && value.length > 0 && value.every(isLine)) return value.map(textForm).join('\n');
  return plainTextForm(value);
}

function isLine(value: unknown): value is TranscriptLine {
  return typeof value === 'object' && value !== null && 'role' in value && 'text' in value;
}

// A terminal interrupts all processes of a command. This one is needed until its service has finished, which closes the channel.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined);
process.on('disconnect', () => process.exit());
process.on('message', (task: Rendering) => process.send?.(answerTo(task)));
// The first rendering of a process takes several times as long as the next: that is not the template's time.
answerTo({
  template: '{% for each in list %}{{ each }}{% endfor %}',
  scope: { list: [1] },
  withinMs: 10_000,
  mostCharacters: 10,
});
process.send?.('ready');
