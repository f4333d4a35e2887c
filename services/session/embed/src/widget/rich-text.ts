import { element } from './dom.ts';
import type { Labels } from './labels.ts';
import { type Block, type Inline, namesHost, readBlock, shownText, splitBlocks } from './markdown.ts';

/** Creates a link from untrusted text. The link's host is shown beside it, unless the text is the address itself. */
export function link(text: string, href: string, labels: Labels): HTMLElement {
  const host = hostBeside(text, href);
  return element(
    'span',
    {},
    element(
      'a',
      { href, target: '_blank', rel: 'noopener noreferrer' },
      // A link text that is an address is displayed from left to right, so that its host comes first.
      element('bdi', { dir: host ? undefined : 'ltr' }, text),
      element('span', { class: 'unseen' }, ` ${labels.opensNewTab}`),
    ),
    host,
  );
}

/**
 * Creates an element that shows a link's host. Returns undefined if the label is the address itself; a label that merely contains a host
 * can be misleading.
 */
export function hostBeside(label: string, href: string): HTMLElement | undefined {
  return namesHost(label, href) ? undefined : element('bdi', { class: 'host', dir: 'ltr' }, ` ${new URL(href).host}`);
}

/** Renders a growing reply. Complete blocks are rendered once. */
export function richText(labels: Labels) {
  const node = element('div', { class: 'text' });
  let shown: string[] = [];
  return {
    node,
    show(text: string): void {
      const sources = splitBlocks(shownText(text));
      const same = sources.findIndex((source, index) => source !== shown[index]);
      const from = same < 0 ? sources.length : same;
      for (const child of Array.from(node.children).slice(from)) child.remove();
      for (const source of sources.slice(from)) {
        node.append(element('div', { class: 'block' }, ...readBlock(source).map((block) => blockNode(block, labels))));
      }
      shown = sources;
    },
  };
}

function blockNode(block: Block, labels: Labels): HTMLElement {
  if (block.kind === 'code') {
    return element('pre', { dir: 'ltr', tabindex: '0' }, element('code', {}, block.text));
  }
  if (block.kind === 'list') {
    const items = block.items.map((item) => element('li', {}, ...inlineNodes(item, labels)));
    if (!block.isOrdered) return element('ul', { dir: 'auto' }, ...items);
    return element('ol', { dir: 'auto', start: String(block.start) }, ...items);
  }
  const lines = block.lines.flatMap((line, index) => [
    ...(index === 0 ? [] : [element('br')]),
    ...inlineNodes(line, labels),
  ]);
  const attributes = { class: block.kind, dir: 'auto' };
  return block.kind === 'quote' ? element('blockquote', attributes, ...lines) : element('p', attributes, ...lines);
}

function inlineNodes(runs: Inline[], labels: Labels): (Node | string)[] {
  return runs.map((run) => {
    if (run.kind === 'text') return run.text;
    return run.kind === 'link' ? link(run.text, run.href, labels) : element(run.kind, {}, run.text);
  });
}
