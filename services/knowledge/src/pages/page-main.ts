import { createContext, Script } from 'node:vm';
import { codePoints } from '@parley/kernel/input-checks';
import { decodePage } from './decode-page.ts';
import { htmlText } from './html-text.ts';
import type { PageProblem, PageTask, PageText } from './page-process.ts';

// This file runs in the process that `page-process.ts` starts.

/** V8 ends this script at its timeout, even if the service has died and can no longer kill this process. */
const sandbox = { work: (): PageText | PageProblem => 'too complex' };
const context = createContext(sandbox);
const script = new Script('work()');

function answerTo(task: PageTask): PageText | PageProblem {
  sandbox.work = () => read(task);
  try {
    return script.runInContext(context, { timeout: task.timeoutMs });
  } catch {
    return 'too complex'; // the script took too long, or the stack overflowed
  }
}

function read({ body, isHtml, charset, maxLength }: PageTask): PageText | PageProblem {
  const page = decodePage(body, charset, isHtml);
  const { title, text: read, warnings } = isHtml ? htmlText(page) : { title: undefined, text: page, warnings: [] };
  const text = read === '' ? '' : [read, ...warnings.map((what) => `[${what}]`)].join('\n\n');
  if (codePoints(text) > maxLength) return 'too long';
  return { title: title && storable(title), text: storable(text), warnings };
}

/** Replaces NUL and halves of surrogate pairs, which cannot be stored. */
function storable(text: string): string {
  return text.replaceAll('\0', '\ufffd').toWellFormed();
}

// A terminal sends signals to all processes of a command. This process ignores them and runs until its service closes the channel.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined);
process.on('disconnect', () => process.exit());
process.on('message', (task: PageTask) => process.send?.(answerTo(task)));
process.send?.('ready');
