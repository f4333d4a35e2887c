import { convert, type FormatCallback, type HtmlToTextOptions } from 'html-to-text';

export interface HtmlText {
  /** Of the whole page; white space is single. */
  title: string | undefined;
  /** Headings as Markdown, tables with pipes; no scripts, styles and navigation. */
  text: string;
}

/** What is deeper is left out. Above what pages have, and below what overflows the stack. */
const maxDepth = 500;

const maxColumns = 50;

const left = [
  'script',
  'style',
  'noscript',
  'template',
  'svg',
  'iframe',
  'object',
  'canvas',
  'img',
  'nav',
  'footer',
  'button',
  'select',
  'textarea',
  'dialog',
  '[hidden]',
  '[aria-hidden="true"]',
  '[role="navigation"]',
];

/** Blocks its thread for as long as the page is hostile: it runs in a process of its own. */
export function htmlText(html: string): HtmlText {
  let title: string | undefined;
  const titleOnly: FormatCallback = ({ children }) => {
    title ??= oneLine(children.map(({ data = '' }) => data).join(''));
  };
  const options: HtmlToTextOptions = {
    wordwrap: false,
    baseElements: { selectors: [], returnDomByDefault: true },
    limits: { maxDepth, ellipsis: '', maxInputLength: html.length },
    formatters: { titleOnly, markdownHeading, pipeTable },
    selectors: [
      ...left.map((selector) => ({ selector, format: 'skip' })),
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
  const text = convert(html, options).replace(/^#{1,6} *$/gmu, '');
  return { title: title === '' ? undefined : title, text: text.replace(/\n{3,}/gu, '\n\n').trim() };
}

const markdownHeading: FormatCallback = ({ children }, walk, builder, { prefix }) => {
  builder.openBlock({ leadingLineBreaks: 2 });
  builder.addLiteral(String(prefix));
  walk(children, builder);
  builder.closeBlock({ trailingLineBreaks: 2 });
};

type Element = Parameters<FormatCallback>[0];

/** A table that arranges a page, rather than data, is its cells one after the other. */
const pipeTable: FormatCallback = (table, walk, builder) => {
  const rows = rowsOf(table);
  const isData = rows.length > 1 && rows.some((cells) => cells.length > 1) && !holdsTable(table);
  if (!isData) {
    builder.openBlock({ leadingLineBreaks: 2 });
    walk(table.children, builder);
    builder.closeBlock({ trailingLineBreaks: 2 });
    return;
  }
  builder.openTable();
  for (const cells of rows) {
    builder.openTableRow();
    for (const cell of cells) {
      builder.openTableCell();
      walk(cell.children, builder);
      builder.closeTableCell({ colspan: Math.min(maxColumns, Number(cell.attribs.colspan) || 1) });
    }
    builder.closeTableRow();
  }
  builder.closeTable({ tableToString: (all) => lined(all) });
};

interface Cell {
  text: string;
  colspan: number;
}

function lined(rows: Cell[][]): string {
  const lines = rows.filter((cells) => cells.length > 0).map((cells) => cells.flatMap(textsOf));
  const [head = [], ...body] = lines;
  return [head, head.map(() => '---'), ...body].map((texts) => `| ${texts.join(' | ')} |`).join('\n');
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
