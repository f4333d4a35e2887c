import { createInterface, type Interface } from 'node:readline/promises';

/** Input and output: a terminal, a pipe or a file. */
export interface Streams {
  stdin: NodeJS.ReadableStream & { isTTY?: boolean };
  stdout: NodeJS.WritableStream;
}

export type Terminal = ReturnType<typeof openTerminal>;

const prompt = 'you> ';

/** Opens the terminal. @param onInterrupt called at each Ctrl-C that the terminal handles itself while it reads. */
export function openTerminal({ stdin, stdout }: Streams, onInterrupt: () => void) {
  let midLine = false;
  /** The line that `begin` printed, if the cursor is still at its end. */
  let runningLine: object | undefined;
  let asking: Interface | undefined;

  function write(text: string): void {
    stdout.write(text);
    if (text === '') return;
    midLine = !text.endsWith('\n');
    runningLine = undefined;
  }

  function lineEnd(): string {
    return midLine ? '\n' : '';
  }

  function ask(reader: Interface): void {
    if (!stdin.isTTY) return;
    reader.prompt(true);
    asking = reader;
    midLine = true;
  }

  return {
    /** Shows a chunk of the reply. */
    say: (text: string) => write(`${runningLine && text !== '' ? '\n' : ''}${printable(text)}`),
    /**
     * Prints a line for something in progress.
     * @returns a function that completes the line with a result. If something was printed after the line, the function prints the line's
     * text again, with the result
     */
    begin(what: string): (result: string) => void {
      write(`${lineEnd()}${printable(what)} …`);
      const line = {};
      runningLine = line;
      return (result) => {
        const repeated = runningLine === line ? '' : `${lineEnd()}${printable(what)}:`;
        write(`${repeated} ${printable(result)}\n`);
      };
    },
    /** Shows a message about the conversation on a line of its own. */
    note(text: string): void {
      write(`${lineEnd()}${printable(text)}\n`);
      if (asking) ask(asking); // the prompt keeps the unfinished input
    },
    /** Yields the lines of input, with a prompt for each line. Call only once. */
    async *lines(): AsyncGenerator<string> {
      // The reader is created only here, because lines that it receives before the first read would be lost.
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

/** Removes control characters, so that a reply cannot move the cursor or rename the window. */
function printable(text: string): string {
  return text.replaceAll(/(?![\n\t])\p{Cc}/gu, '');
}
