/** An element or a text of html-to-text's tree. */
export interface PageNode {
  type?: string;
  name?: string;
  data?: string;
  attribs?: Record<string, string>;
  children?: PageNode[];
}

/** Elements whose content is not part of a page's text. */
export const unseen = new Set([
  'script',
  'style',
  'noscript',
  'template',
  'svg',
  'iframe',
  'object',
  'canvas',
  'select',
  'textarea',
  'rp',
  'rt', // otherwise ruby annotations would appear in the middle of words
]);

/** Returns the text below a node; `br` ends a line. */
export function textOf(root: PageNode): string {
  const parts: string[] = [];
  const rest = [root];
  for (let node = rest.pop(); node; node = rest.pop()) {
    if (node.name === 'br') parts.push('\n');
    else if (!node.name) parts.push(node.data ?? '');
    else if (!unseen.has(node.name)) for (const child of (node.children ?? []).toReversed()) rest.push(child);
  }
  return parts.join('');
}
