import { element } from './dom.ts';
import type { Labels } from './labels.ts';
import { type Block, type Inline, readBlock, shownText, splitBlocks } from './markdown.ts';

/** A link of somebody else. Its host stands beside it unless the text names it, so that a text cannot pass for another address. */
export function link(text: string, href: string, labels: Labels): HTMLElement {
  const { host } = new URL(href);
  const isNamed = text.toLowerCase().includes(host.toLowerCase());
  return element(
    'span',
    {},
    element(
      'a',
      { href, target: '_blank', rel: 'noopener noreferrer' },
      element('bdi', {}, text),
      element('span', { class: 'unseen' }, ` ${labels.opensNewTab}`),
    ),
    isNamed ? undefined : element('bdi', { class: 'host' }, ` ${host}`),
  );
}

/** A node with a reply that grows: blocks that are complete are not touched again. */
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
