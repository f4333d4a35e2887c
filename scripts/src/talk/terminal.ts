import { createInterface, type Interface } from 'node:readline/promises';
import type { Screen } from './conversation.ts';

/** The person's terminal, or a pipe and a file in its place. */
export interface Terminal extends Screen {
  /** What the person types, a line at a time; asks for each. Read once only. */
  lines(): AsyncGenerator<string>;
  /** Called at each Ctrl-C. */
  onInterrupt(listener: () => void): void;
}

const prompt = 'you> ';

export function openTerminal(): Terminal {
  const { stdin, stdout } = process;
  const interactive = stdin.isTTY;
  const listeners: (() => void)[] = [];
  const interrupt = () => {
    for (const listener of listeners) listener();
  };
  let midLine = false;
  let asking: Interface | undefined;

  // Whoever read along has gone, as `head` does.
  stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1));
  process.on('SIGINT', interrupt);

  function write(text: string): void {
    if (text === '') return;
    stdout.write(text);
    midLine = !text.endsWith('\n');
  }

  function ask(reader: Interface): void {
    if (!interactive) return;
    reader.prompt(true);
    asking = reader;
    midLine = true;
  }

  return {
    say: (text) => write(printable(text)),
    note(text) {
      write(`${midLine ? '\n' : ''}${printable(text)}\n`);
      if (asking) ask(asking); // with what was typed so far
    },
    onInterrupt: (listener) => void listeners.push(listener),
    async *lines() {
      // Made only now: lines that come before somebody reads them would be lost.
      const reader = createInterface({ input: stdin, output: stdout, terminal: interactive, prompt });
      reader.on('SIGINT', interrupt); // in a terminal it swallows the signal
      try {
        ask(reader);
        for await (const line of reader) {
          if (!interactive && line.trim() !== '') write(`${prompt}${line}\n`);
          asking = undefined;
          midLine = false;
          yield line;
          ask(reader);
        }
      } finally {
        asking = undefined;
        reader.close();
      }
    },
  };
}

/** A model's words may not move the cursor or rename the window. */
function printable(text: string): string {
  return text.replaceAll(/(?![\n\t])\p{Cc}/gu, '');
}
