export interface ExcerptLimits {
  maxCharacters: number;
  maxMessages: number;
}

/** The beginning and the end of a conversation. */
export interface Excerpt<Message> {
  first: Message[];
  /** The number of messages omitted between beginning and end. */
  leftOut: number;
  last: Message[];
}

/**
 * Collects a conversation of any length: all messages if they fit, otherwise the first and the last ones, each part within half of the
 * limits. A message longer than half of `maxCharacters` is truncated. Memory is bounded by the limits.
 */
export function excerpt<Message extends { text: string }>({ maxCharacters, maxMessages }: ExcerptLimits) {
  const first = collected<Message>();
  /** Whether the beginning is complete. The first message that does not fit completes it, even if a later, shorter one would fit. */
  let isFull = false;
  const last = collected<Message>();
  const half = { characters: Math.ceil(maxCharacters / 2), messages: Math.ceil(maxMessages / 2) };
  const rest = { characters: Math.floor(maxCharacters / 2), messages: Math.floor(maxMessages / 2) };
  let leftOut = 0;

  return {
    add(given: Message): void {
      const message = clipped(given, rest.characters);
      isFull ||= !first.fits(message, half);
      if (!isFull) {
        first.push(message);
        return;
      }
      last.push(message);
      while (last.exceeds(rest)) {
        last.shift();
        leftOut += 1;
      }
    },
    /** Records that this many messages are omitted after the messages added so far. */
    leaveOut(count: number): void {
      if (count === 0) return;
      isFull = true;
      leftOut += last.clear() + count;
    },
    excerpt: (): Excerpt<Message> => ({ first: first.messages(), leftOut, last: last.messages() }),
  };
}

/** Returns an excerpt of an excerpt, with at most half as many characters. */
export function halved<Message extends { text: string }>({ first, leftOut, last }: Excerpt<Message>): Excerpt<Message> {
  const messages = [...first, ...last];
  const shorter = excerpt<Message>({
    maxCharacters: Math.floor(charactersOf(messages) / 2),
    maxMessages: messages.length,
  });
  for (const message of first) shorter.add(message);
  shorter.leaveOut(leftOut);
  for (const message of last) shorter.add(message);
  return shorter.excerpt();
}

/** Returns the space that messages take in a document, in characters. */
export function charactersOf(messages: readonly { text: string }[]): number {
  return messages.reduce((sum, message) => sum + sizeOf(message), 0);
}

const lineEnd = /[\n\r\p{Zl}\p{Zp}]/gu;
/** Characters per line; a shorter line counts as a full one. */
const charactersOfLine = 80;

/** Returns the space that a text takes in a document, in characters. */
export function sizeOf({ text }: { text: string }): number {
  let size = text.length;
  for (const _ of text.matchAll(lineEnd)) size += charactersOfLine;
  return size;
}

/** Truncates a message that takes more space in a document than `max` characters. */
function clipped<Message extends { text: string }>(message: Message, max: number): Message {
  if (sizeOf(message) <= max) return message;
  let { text } = message;
  let size = 0;
  for (const { index } of text.matchAll(lineEnd)) {
    if (index + size + charactersOfLine > max) {
      text = text.slice(0, index);
      break;
    }
    size += charactersOfLine;
  }
  return { ...message, text: `${text.slice(0, Math.max(0, max - size - cut.length))}${cut}` };
}

const cut = ' […]';

interface Room {
  characters: number;
  messages: number;
}

function collected<Message extends { text: string }>() {
  const all: Message[] = [];
  let start = 0;
  let characters = 0;
  const count = () => all.length - start;
  return {
    fits: (message: Message, room: Room) =>
      characters + sizeOf(message) <= room.characters && count() + 1 <= room.messages,
    exceeds: (room: Room) => count() > 0 && (characters > room.characters || count() > room.messages),
    push(message: Message): void {
      all.push(message);
      characters += sizeOf(message);
    },
    shift(): void {
      characters -= sizeOf(all[start] ?? { text: '' });
      start += 1;
      if (start < 1_024) return; // copying the array takes time, so old messages are removed in groups
      all.splice(0, start);
      start = 0;
    },
    /** Removes all messages. @returns the number of removed messages. */
    clear(): number {
      const before = count();
      all.length = 0;
      start = 0;
      characters = 0;
      return before;
    },
    messages: () => all.slice(start),
  };
}
