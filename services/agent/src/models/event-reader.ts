import { parseJson } from '@parley/kernel/json';

/** Reads the data of server-sent events from bytes, however they are split. */
export function eventReader() {
  const decoder = new TextDecoder();
  /** The incomplete last line. */
  let line = '';
  let data: string[] = [];
  /** The text received before the first event. It may be a whole answer that is not an event stream. */
  let unread: string | undefined = '';

  function read(text: string): string[] {
    if (unread !== undefined) unread = unread.length > maxUnread ? undefined : unread + text;
    if (!/[\r\n]/u.test(text)) {
      line += text;
      return [];
    }
    // A carriage return at the end may be the first half of a CR LF pair.
    const lines = (line + text).split(/\r\n|\n|\r(?!$)/u);
    line = lines.pop() ?? '';
    return lines.flatMap(readLine);
  }

  function readLine(whole: string): string[] {
    if (whole === '') return takeEvent();
    if (whole.startsWith('data:')) data.push(whole.slice(whole.startsWith('data: ') ? 6 : 5));
    return [];
  }

  function takeEvent(): string[] {
    if (data.length === 0) return [];
    unread = undefined;
    const event = data.join('\n');
    data = [];
    return [event];
  }

  return {
    /** Returns the events that these bytes complete. */
    push: (bytes: Uint8Array): string[] => read(decoder.decode(bytes, { stream: true })),
    /**
     * Returns the last event if only the empty line after it is missing. If the whole body is JSON rather than a stream, returns the body.
     */
    end(): string[] {
      const events = [...read(decoder.decode()), ...(line === '' ? [] : readLine(line.replace(/\r$/u, '')))];
      line = '';
      const [last] = takeEvent();
      if (last !== undefined) return parseJson(last) === undefined ? events : [...events, last];
      return events.length === 0 && unread !== undefined && parseJson(unread) !== undefined ? [unread] : events;
    },
  };
}

const maxUnread = 100_000;
