import { isNativeError } from 'node:util/types';
import { createContext, Script } from 'node:vm';
import { performTasks } from '@parley/kernel/processes/perform-tasks';
import { plainTextForm, templateEngine } from '@parley/text/template-engine';
import type { RendererResponse, Rendering } from './renderer-process.ts';
import type { TranscriptLine } from './transcript.ts';

// This file runs in the process that `renderer-process.ts` starts.

const templates = templateEngine(textForm);

let last: { text: string; parsed: ReturnType<typeof templates.parse> } | undefined;

/** V8 enforces the timeout of this script even during a sort or a join, where liquidjs does not check its own limits. */
const sandbox = { work: (): RendererResponse => ({ problem: 'unknown' }) };
const context = createContext(sandbox);
const script = new Script('work()');

function respondTo(task: Rendering): RendererResponse {
  sandbox.work = () => rendered(task);
  try {
    return script.runInContext(context, { timeout: Math.max(1, Math.ceil(task.timeoutMs)) });
  } catch (error) {
    return { problem: problemOf(error) };
  }
}

function rendered({ template, scope, timeoutMs, maxCharacters }: Rendering): RendererResponse {
  const begun = performance.now();
  if (last?.text !== template) last = { text: template, parsed: templates.parse(template) };
  const renderLimit = timeoutMs - (performance.now() - begun);
  const text = String(templates.renderSync(last.parsed, scope, { renderLimit }));
  const tookMs = performance.now() - begun;
  return text.length > maxCharacters ? { characters: text.length, tookMs } : { text, tookMs };
}

function problemOf(error: unknown): string {
  if (!isNativeError(error)) return 'unknown'; // `instanceof` fails, because V8's timeout error is from the script's context
  if ('code' in error && error.code === 'ERR_SCRIPT_EXECUTION_TIMEOUT') return 'too slow';
  if (error.message.startsWith('template render limit exceeded')) return 'too slow';
  if (error.message.startsWith('memory alloc limit exceeded')) return 'too much memory';
  return error.name;
}

function textForm(value: unknown): string {
  if (isLine(value)) return `${value.role}: ${value.text}`;
  if (Array.isArray(value) && value.length > 0 && value.every(isLine)) return value.map(textForm).join('\n');
  return plainTextForm(value);
}

function isLine(value: unknown): value is TranscriptLine {
  return typeof value === 'object' && value !== null && 'role' in value && 'text' in value;
}

// The first rendering of a process is several times slower, so it is done here, before any template of a tenant is measured.
respondTo({
  template: '{% for each in list %}{{ each }}{% endfor %}',
  scope: { list: [1] },
  timeoutMs: 10_000,
  maxCharacters: 10,
});
performTasks(respondTo);
