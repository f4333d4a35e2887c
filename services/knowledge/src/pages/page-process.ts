import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { type DomainError, unavailable } from '@parley/kernel/errors';

export interface FetchedPage {
  body: Uint8Array;
  isHtml: boolean;
  charset: string | undefined;
}

export interface PageText {
  title: string | undefined;
  text: string;
  /** Describes what is missing in the text compared with the page, one sentence each. The text ends with the same sentences. */
  warnings: string[];
}

/** `too long`: the text of the page has more than `maxLength` code points. */
export type PageProblem = 'too complex' | 'too long';

export interface PageTask extends FetchedPage, Pick<PageLimits, 'maxLength' | 'timeoutMs'> {}

export interface PageLimits {
  /** Maximum length of the text, in Unicode code points. */
  maxLength: number;
  timeoutMs: number;
  heapMb: number;
}

export const usualPageLimits: PageLimits = { maxLength: 500_000, timeoutMs: 10_000, heapMb: 256 };

const startTimeoutMs = 30_000;

/** Extra time after the timeout until the process is killed, in ms. */
const killAfterMs = 2_000;

/**
 * Reads a page in a separate process without the service's environment, so that a hostile page cannot harm the service.
 * @throws DomainError `unavailable` if no process could be started
 */
export async function readPage(
  page: FetchedPage,
  signal: AbortSignal,
  { maxLength, timeoutMs, heapMb }: PageLimits = usualPageLimits,
): Promise<PageText | PageProblem> {
  signal.throwIfAborted();
  const { NODE_COMPILE_CACHE } = process.env;
  const child = fork(fileURLToPath(new URL('./page-main.ts', import.meta.url)), [], {
    execArgv: [`--max-old-space-size=${heapMb}`],
    env: { ...(NODE_COMPILE_CACHE && { NODE_COMPILE_CACHE }) },
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'], // when its heap is full, V8 prints parts of the page
    serialization: 'advanced',
  });
  const { promise, resolve, reject } = Promise.withResolvers<PageText | PageProblem>();
  let timer = setTimeout(() => reject(notStarted()), startTimeoutMs);
  let isStarted = false;
  child.on('message', (message: PageText | PageProblem | 'ready') => {
    if (message !== 'ready') return resolve(message);
    isStarted = true;
    clearTimeout(timer); // the start of the process does not count against the page
    timer = setTimeout(() => resolve('too complex'), timeoutMs + killAfterMs);
    child.send({ ...page, maxLength, timeoutMs } satisfies PageTask);
  });
  child.on('error', (error) => reject(notStarted(error)));
  child.on('exit', () => (isStarted ? resolve('too complex') : reject(notStarted()))); // the process was out of memory
  const leave = () => reject(signal.reason);
  signal.addEventListener('abort', leave);
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', leave);
    child.kill('SIGKILL');
  }
}

function notStarted(cause?: unknown): DomainError {
  return unavailable('The page cannot be read at the moment', cause);
}
