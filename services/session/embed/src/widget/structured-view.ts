import { button, element } from './dom.ts';
import { fill, type Labels } from './labels.ts';
import { hostBeside, link } from './rich-text.ts';
import { type Button, type Card, type List, readStructuredContent, type Table } from './structured-content.ts';

/**
 * Renders a card, a table or a list; returns undefined if the content is invalid. @param onValue called with a button's value when the
 * button is clicked
 */
export function structuredView(
  content: unknown,
  labels: Labels,
  onValue: (value: string) => void,
): HTMLElement | undefined {
  const read = readStructuredContent(content);
  if (!read) return undefined;
  if (read.kind === 'card') return cardView(read, labels, onValue);
  return read.kind === 'table' ? tableView(read, labels) : listView(read, labels);
}

function text(tag: 'p' | 'th' | 'td', className: string, value: string | undefined): HTMLElement | undefined {
  return value === undefined ? undefined : element(tag, { class: className, dir: 'auto' }, value);
}

function cardView(card: Card, labels: Labels, onValue: (value: string) => void): HTMLElement {
  const buttons = card.buttons.map((each) => buttonView(each, labels, onValue));
  return element(
    'div',
    { class: 'card', role: 'group', 'aria-label': card.title },
    card.imageUrl === undefined
      ? undefined
      : element('img', { src: card.imageUrl, alt: '', loading: 'lazy', referrerpolicy: 'no-referrer' }),
    element(
      'div',
      { class: 'card-body' },
      text('p', 'card-title', card.title),
      text('p', 'muted', card.subtitle),
      text('p', 'lines', card.body),
      buttons.length === 0 ? undefined : element('div', { class: 'buttons' }, ...buttons),
    ),
  );
}

function buttonView(given: Button, labels: Labels, onValue: (value: string) => void): HTMLElement {
  const label = element('bdi', {}, given.label);
  if ('value' in given) return button('choice', label, () => onValue(given.value));
  return element(
    'a',
    { class: 'choice', href: given.url, target: '_blank', rel: 'noopener noreferrer' },
    label,
    hostBeside(given.label, given.url),
    element('span', { 'aria-hidden': 'true' }, ' ↗'),
    element('span', { class: 'unseen' }, ` ${labels.opensNewTab}`),
  );
}

function tableView({ columns, rows, more }: Table, labels: Labels): HTMLElement {
  const head = columns.map((name) => element('th', { scope: 'col', dir: 'auto' }, name));
  const body = rows.map((row) => element('tr', {}, ...row.map((cell) => text('td', '', cell))));
  return element(
    'div',
    { class: 'table', role: 'region', 'aria-label': `${labels.table}: ${columns.join(', ')}`, tabindex: '0' },
    element('table', {}, element('thead', {}, element('tr', {}, ...head)), element('tbody', {}, ...body)),
    moreText(labels.moreRows, more.rows),
    moreText(labels.moreColumns, more.columns),
  );
}

/** Creates a line that shows how many rows, columns or items were omitted; undefined if none was. */
function moreText(label: string, count: number): HTMLElement | undefined {
  return count === 0 ? undefined : element('p', { class: 'more muted' }, fill(label, { count }));
}

function listView({ items, more }: List, labels: Labels): HTMLElement {
  const shown = items.map(({ title, description, url }) =>
    element(
      'li',
      {},
      element('p', { class: 'card-title', dir: 'auto' }, url === undefined ? title : link(title, url, labels)),
      text('p', 'muted lines', description),
    ),
  );
  const rest = moreText(labels.moreItems, more);
  return element('ul', { class: 'list' }, ...shown, rest && element('li', {}, rest));
}
