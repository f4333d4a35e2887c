import { createInterface, type Interface } from 'node:readline/promises';

/** Where the person types and reads: a terminal, or a pipe and a file in its place. */
export interface Streams {
  stdin: NodeJS.ReadableStream & { isTTY?: boolean };
  stdout: NodeJS.WritableStream;
}

export type Terminal = ReturnType<typeof openTerminal>;

const prompt = 'you> ';

/** @param onInterrupt called at each Ctrl-C that a terminal takes for itself while it reads. */
export function openTerminal({ stdin, stdout }: Streams, onInterrupt: () => void) {
  let midLine = false;
  let asking: Interface | undefined;

  function write(text: string): void {
    stdout.write(text);
    if (text !== '') midLine = !text.endsWith('\n');
  }

  function ask(reader: Interface): void {
    if (!stdin.isTTY) return;
    reader.prompt(true);
    asking = reader;
    midLine = true;
  }

  return {
    /** A piece of the reply, to be shown at once. */
    say: (text: string) => write(printable(text)),
    /** A remark beside the conversation, on a line of its own. */
    note(text: string): void {
      write(`${midLine ? '\n' : ''}${printable(text)}\n`);
      if (asking) ask(asking); // with what was typed so far
    },
    /** What the person types, a line at a time; asks for each. Read once only. */
    async *lines(): AsyncGenerator<string> {
      // Made only now: lines that come before somebody reads them would be lost.
      using reader = createInterface({ input: stdin, output: stdout, terminal: stdin.isTTY === true, prompt });
      reader.on('SIGINT', onInterrupt);
      ask(reader);
      for await (const line of reader) {
        if (!stdin.isTTY && line.trim() !== '') write(`${prompt}${line}\n`);
        asking = undefined;
        midLine = false;
        yield line;
        ask(reader);
      }
      asking = undefined;
    },
  };
}

/** A model's words may not move the cursor or rename the window. */
function printable(text: string): string {
  return text.replaceAll(/(?![\n\t])\p{Cc}/gu, '');
}
