/** A piece of text within a line that has one format. */
export type Inline =
  | { kind: 'text' | 'strong' | 'em' | 'code'; text: string }
  /** A link; the scheme of `href` is http or https. */
  | { kind: 'link'; text: string; href: string };

/** A paragraph, a heading, a quote, a list or a code block. */
export type Block =
  | { kind: 'paragraph' | 'heading' | 'quote'; lines: Inline[][] }
  | { kind: 'list'; isOrdered: boolean; start: number; items: Inline[][] }
  | { kind: 'code'; text: string };

const fence = /^ {0,3}```/u;
const bullet = /^\s{0,6}[-*•]\s+(?=\S)/u;
const numbered = /^\s{0,6}(\d{1,6})[.)]\s+(?=\S)/u;
const heading = /^#{1,6}\s+/u;
const quote = /^>\s?/u;

/** Splits a reply into the Markdown source of its blocks. While the reply grows, only the last block changes. */
export function splitBlocks(text: string): string[] {
  const blocks: string[][] = [[]];
  let isCode = false;
  for (const line of text.replaceAll('\r\n', '\n').split('\n')) {
    const isFence = fence.test(line);
    if (isFence && !isCode) blocks.push([line]);
    else if (line.trim() === '' && !isCode) blocks.push([]);
    else blocks.at(-1)?.push(line);
    if (isFence && isCode) blocks.push([]);
    if (isFence) isCode = !isCode;
  }
  return blocks.map((lines) => lines.join('\n')).filter(Boolean);
}

/** Parses the source of one block. Markdown outside the supported subset, and HTML, become text. */
export function readBlock(source: string): Block[] {
  const lines = source.split('\n');
  const [first = ''] = lines;
  if (fence.test(first)) {
    const isClosed = lines.length > 1 && fence.test(lines.at(-1) ?? '');
    return [{ kind: 'code', text: lines.slice(1, isClosed ? -1 : undefined).join('\n') }];
  }
  const blocks: Block[] = [];
  for (const line of lines) add(blocks, line);
  return blocks;
}

function add(blocks: Block[], line: string): void {
  const last = blocks.at(-1);
  const number = numbered.exec(line);
  const item = number ?? bullet.exec(line);
  if (item) {
    const isOrdered = number !== null;
    const content = readInline(line.slice(item[0].length));
    if (last?.kind === 'list' && last.isOrdered === isOrdered) last.items.push(content);
    else blocks.push({ kind: 'list', isOrdered, start: Number(number?.[1] ?? 1), items: [content] });
    return;
  }
  const mark = heading.exec(line) ?? quote.exec(line);
  const kind = mark ? (line.startsWith('>') ? 'quote' : 'heading') : 'paragraph';
  const content = readInline(mark ? line.slice(mark[0].length) : line);
  if (last?.kind === kind && kind !== 'heading') last.lines.push(content);
  else blocks.push({ kind, lines: [content] });
}

/** Each alternative of this pattern has a bounded length and starts with its own character, so that matching takes linear time. */
const inline =
  /`([^`\n]{1,500})`|\*\*([^*\n]{1,500})\*\*|(?<![\w*])\*([^*\s][^*\n]{0,300})\*(?![\w*])|\[([^[\]\n]{1,300})\]\((https?:\/\/[^\s()]{1,2000})\)|(https?:\/\/[^\s<>"'`]{1,2000})/gu;
const afterLink = '.,;:!?)]}»”’';

/** Returns the URL without trailing punctuation that belongs to the sentence around it. */
function withoutPunctuation(url: string): string {
  let end = url.length;
  while (end > 0 && afterLink.includes(url.charAt(end - 1))) end -= 1;
  return url.slice(0, end);
}

export function readInline(text: string): Inline[] {
  const runs: Inline[] = [];
  const push = (run: Inline) => {
    const last = runs.at(-1);
    if (run.kind === 'text' && last?.kind === 'text') last.text += run.text;
    else if (run.text !== '') runs.push(run);
  };
  let from = 0;
  for (const match of text.matchAll(inline)) {
    const [whole, code, strong, em, label, target, bare] = match;
    push({ kind: 'text', text: text.slice(from, match.index) });
    from = match.index + whole.length;
    if (code !== undefined) push({ kind: 'code', text: code });
    else if (strong !== undefined) push({ kind: 'strong', text: strong });
    else if (em !== undefined) push({ kind: 'em', text: em });
    else {
      const url = target ?? withoutPunctuation(bare ?? '');
      const href = safeUrl(url);
      const shown = label ?? url;
      push(href === undefined ? { kind: 'text', text: whole } : { kind: 'link', text: shown, href });
      if (bare !== undefined && href !== undefined) push({ kind: 'text', text: bare.slice(url.length) });
    }
  }
  push({ kind: 'text', text: text.slice(from) });
  return runs;
}

/**
 * Returns the URL in the browser's form if it is absolute and its scheme is http or https; otherwise undefined. A URL with user info is
 * refused, because user info could disguise the host.
 */
export function safeUrl(url: unknown): string | undefined {
  if (typeof url !== 'string' || !URL.canParse(url)) return undefined;
  const { protocol, username, password, href } = new URL(url);
  const isSafe = (protocol === 'https:' || protocol === 'http:') && username === '' && password === '';
  return isSafe ? href : undefined;
}

/**
 * Reports whether a link's whole label is an address with the host of `href`. The label must contain the host as the browser resolves it.
 * Only a scheme may be before the host, and only a path, a query or a fragment after it.
 */
export function namesHost(label: string, href: string): boolean {
  const { host } = new URL(href);
  const address = label
    .trim()
    .toLowerCase()
    .replace(/^https?:\/\//u, '');
  return address.startsWith(host) && /^(?:[/?#]\S*)?$/u.test(address.slice(host.length));
}

/**
 * Removes control characters and bidirectional overrides from untrusted text. An override can make "moc.knab" look like another name.
 * Right-to-left scripts do not need overrides.
 */
export function shownText(text: string): string {
  // eslint-disable-next-line no-control-regex -- control characters are removed here
  return text.replaceAll(/[\u0000-\u0008\u000B-\u001F\u007F\u202A-\u202E]/gu, '');
}
