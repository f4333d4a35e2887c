import { convert, type FormatCallback, type HtmlToTextOptions } from 'html-to-text';
import { closesFence, openingFence } from '../indexing/code-fence.ts';
import { type PageNode, textOf, unseen } from './page-node.ts';
import { prunePage } from './prune-page.ts';

export interface HtmlText {
  /** The page's title, with white space collapsed. */
  title: string | undefined;
  /**
   * The text with headings as Markdown, tables with pipes, and code between fences. Scripts, styles, navigation and hidden content are
   * omitted.
   */
  text: string;
  /** Describes what is missing in the text compared with the page, one sentence each. Small losses are not listed. */
  warnings: string[];
}

/** Maximum depth of formatted elements: greater than the depth of a pruned page, and small enough not to overflow the stack. */
const maxDepth = 550;

const maxColumns = 50;

/** Elements that are omitted with their whole content: elements without text, and elements that are not content. */
const omitted = [...unseen, 'img', 'nav', 'button', 'dialog'];

/** A synthetic root element, so that the whole tree passes through one formatter. */
const wholePage = 'parley-page';

/** Extracts the text of a page. Runs in a separate process, because a hostile page can block the thread for a long time. */
export function htmlText(html: string): HtmlText {
  let title: string | undefined;
  let warnings: string[] = [];
  const prunedPage: FormatCallback = (page, walk, builder) => {
    warnings = prunePage(page as PageNode);
    walk(page.children, builder);
  };
  const titleOnly: FormatCallback = ({ children }) => {
    title ??= oneLine(children.map(({ data = '' }) => data).join(''));
  };
  const options: HtmlToTextOptions = {
    wordwrap: false,
    baseElements: { selectors: [], returnDomByDefault: true },
    limits: { maxDepth, ellipsis: '', maxInputLength: html.length + 2 * wholePage.length + 5 },
    formatters: { prunedPage, titleOnly, markdownHeading, pipeTable, fencedCode, definitions },
    selectors: [
      ...omitted.map((selector) => ({ selector, format: 'skip' })),
      { selector: wholePage, format: 'prunedPage' },
      { selector: 'pre', format: 'fencedCode' },
      { selector: 'dl', format: 'definitions' },
      { selector: 'title', format: 'titleOnly' },
      ...[1, 2, 3, 4, 5, 6].map((level) => ({
        selector: `h${level}`,
        format: 'markdownHeading',
        options: { prefix: `${'#'.repeat(level)} ` },
      })),
      { selector: 'a', options: { ignoreHref: true } },
      { selector: 'ul', options: { itemPrefix: '- ' } },
      { selector: 'table', format: 'pipeTable' },
      ...['tr', 'td', 'th'].map((selector) => ({
        selector,
        format: 'block',
        options: { leadingLineBreaks: 1, trailingLineBreaks: 1 },
      })),
    ],
  };
  const text = convert(`<${wholePage}>${html}</${wholePage}>`, options);
  return { title: title === '' ? undefined : title, text: tidied(text), warnings };
}

/** Removes empty headings and repeated blank lines. Code stays unchanged. */
function tidied(text: string): string {
  const lines: string[] = [];
  let fence: string | undefined;
  for (const line of text.split('\n')) {
    if (fence !== undefined) {
      lines.push(line);
      if (closesFence(line, fence)) fence = undefined;
      continue;
    }
    fence = openingFence(line);
    const kept = /^#{1,6} *$/u.test(line) ? '' : line;
    if (kept !== '' || (lines.at(-1) ?? '') !== '') lines.push(kept);
  }
  return lines.join('\n').trim();
}

/** Formats code unchanged, between fences that are longer than any fence inside the code. */
const fencedCode: FormatCallback = (element, _walk, builder) => {
  const code = textOf(element as PageNode).replaceAll(/^(?:[ \t]*\n)+|\s+$/gu, '');
  if (code === '') return;
  const longest = Math.max(2, ...(code.match(/`+/gu) ?? []).map((marks) => marks.length).slice(0, 10_000));
  const fence = '`'.repeat(Math.min(longest, maxFence) + 1);
  builder.openBlock({ leadingLineBreaks: 2, isPre: true });
  builder.addLiteral(`${fence}\n${code}\n${fence}`);
  builder.closeBlock({ trailingLineBreaks: 2 });
};

const maxFence = 100;

/** Formats each term with the first line of its definition as one line, `Warranty: five years`; further lines follow. */
const definitions: FormatCallback = (list, walk, builder) => {
  builder.openBlock({ leadingLineBreaks: 2 });
  for (const { terms, meanings } of definedIn(list)) {
    const term = terms.map((each) => oneLine(textOf(each as PageNode))).join(', ');
    const [first, ...others] = meanings.map(contentOf);
    const colon = term === '' || /[:?!.？：]$/u.test(term) ? '' : ':';
    builder.openBlock({ leadingLineBreaks: 1 });
    if (term !== '') builder.addInline(`${term}${first ? `${colon} ` : ''}`);
    if (first) walk(first, builder);
    builder.closeBlock({ trailingLineBreaks: 1 });
    for (const other of others) {
      builder.openBlock({ leadingLineBreaks: 1 });
      walk(other, builder);
      builder.closeBlock({ trailingLineBreaks: 1 });
    }
  }
  builder.closeBlock({ trailingLineBreaks: 2 });
};

interface Definition {
  terms: Element[];
  meanings: Element[];
}

function definedIn(list: Element): Definition[] {
  const entries = list.children.flatMap((child) => (child.name === 'div' ? child.children : [child]));
  const definitions: Definition[] = [];
  let last: Definition | undefined;
  for (const entry of entries) {
    if (entry.name !== 'dt' && entry.name !== 'dd') continue;
    if (!last || (entry.name === 'dt' && last.meanings.length > 0)) {
      last = { terms: [], meanings: [] };
      definitions.push(last);
    }
    (entry.name === 'dt' ? last.terms : last.meanings).push(entry);
  }
  return definitions;
}

/** Returns the children of an element. If its only child is a paragraph, returns the paragraph's children. */
function contentOf({ children }: Element): Element[] {
  const [only, ...others] = children.filter(({ name, data = '' }) => name || data.trim() !== '');
  return only?.name === 'p' && others.length === 0 ? only.children : children;
}

const markdownHeading: FormatCallback = ({ children }, walk, builder, { prefix }) => {
  builder.openBlock({ leadingLineBreaks: 2 });
  builder.addLiteral(String(prefix));
  walk(children, builder);
  builder.closeBlock({ trailingLineBreaks: 2 });
};

type Element = Parameters<FormatCallback>[0];

/** Formats a table with pipes. The cells of a table that is used for layout follow one another instead. */
const pipeTable: FormatCallback = (table, walk, builder) => {
  const rows = rowsOf(table);
  const isData = rows.length > 1 && rows.some((cells) => cells.length > 1) && !holdsTable(table);
  if (!isData) {
    builder.openBlock({ leadingLineBreaks: 2 });
    walk(table.children, builder);
    builder.closeBlock({ trailingLineBreaks: 2 });
    return;
  }
  const caption = table.children.find(({ name }) => name === 'caption');
  if (caption) {
    builder.openBlock({ leadingLineBreaks: 2 });
    walk(caption.children, builder);
    builder.closeBlock({ trailingLineBreaks: 2 });
  }
  builder.openTable();
  for (const cells of rows) {
    builder.openTableRow();
    for (const cell of cells) {
      builder.openTableCell();
      walk(cell.children, builder);
      const [colspan, rowspan] = [spanOf(cell.attribs.colspan), spanOf(cell.attribs.rowspan)];
      builder.closeTableCell({ colspan, rowspan });
    }
    builder.closeTableRow();
  }
  builder.closeTable({ tableToString: (all) => lined(all) });
};

interface Cell {
  text: string;
  colspan: number;
  rowspan: number;
}

function spanOf(value: string | undefined): number {
  return Math.min(maxColumns, Math.max(1, Number(value) || 1));
}

function lined(rows: Cell[][]): string {
  const lines = withRepeated(rows.filter((cells) => cells.length > 0));
  const [head = [], ...body] = lines;
  return [head, head.map(() => '---'), ...body].map((texts) => `| ${texts.join(' | ')} |`).join('\n');
}

/** Repeats a cell with a row span in each row that it spans. */
function withRepeated(rows: Cell[][]): string[][] {
  let above: { text: string; rows: number }[] = [];
  return rows.map((cells) => {
    const texts: string[] = [];
    const reaching: typeof above = [];
    const fillFromAbove = () => {
      for (let from = above[texts.length]; from && from.rows > 0; from = above[texts.length]) {
        reaching[texts.length] = { text: from.text, rows: from.rows - 1 };
        texts.push(from.text);
      }
    };
    fillFromAbove();
    for (const cell of cells) {
      for (const text of textsOf(cell)) {
        if (cell.rowspan > 1) reaching[texts.length] = { text, rows: cell.rowspan - 1 };
        texts.push(text);
      }
      fillFromAbove();
    }
    above = reaching;
    return texts;
  });
}

function textsOf({ text, colspan }: Cell): string[] {
  return [oneLine(text).replaceAll('|', '\\|'), ...Array<string>(Math.max(0, colspan - 1)).fill('')];
}

function rowsOf({ children }: Element): Element[][] {
  return children.flatMap((child) => {
    if (child.name === 'tr') return [child.children.filter(({ name }) => name === 'th' || name === 'td')];
    return child.name === 'thead' || child.name === 'tbody' || child.name === 'tfoot' ? rowsOf(child) : [];
  });
}

function holdsTable({ children }: Element): boolean {
  const rest = [...children];
  for (let element = rest.pop(); element; element = rest.pop()) {
    if (element.name === 'table') return true;
    for (const child of element.children ?? []) rest.push(child);
  }
  return false;
}

function oneLine(text: string): string {
  return text.replace(/\s+/gu, ' ').trim();
}
