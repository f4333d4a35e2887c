type Attributes = Record<string, string | boolean | undefined>;
type Child = Node | string | undefined;

/**
 * Creates an element. String children become text, never markup. An attribute that is `true` has no value; an attribute that is `false` or
 * undefined is omitted.
 */
export function element<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[Tag] {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== undefined && value !== false) made.setAttribute(name, value === true ? '' : value);
  }
  made.append(...children.filter((child) => child !== undefined));
  return made;
}

export function button(className: string, label: Child, onClick: () => void): HTMLButtonElement {
  const made = element('button', { class: className, type: 'button' }, label);
  made.addEventListener('click', onClick);
  return made;
}

const svg = 'http://www.w3.org/2000/svg';

/** Creates an SVG icon of one path, with a view box of 24 by 24. */
export function icon(path: string): SVGSVGElement {
  const made = document.createElementNS(svg, 'svg');
  for (const [name, value] of Object.entries({ viewBox: '0 0 24 24', 'aria-hidden': 'true', class: 'icon' })) {
    made.setAttribute(name, value);
  }
  const line = document.createElementNS(svg, 'path');
  line.setAttribute('d', path);
  made.append(line);
  return made;
}

/** Makes `wanted` the children of a node. Nodes that are already in place are not touched. */
export function placeChildren(parent: Element, wanted: readonly Element[]): void {
  for (const child of Array.from(parent.children)) if (!wanted.includes(child)) child.remove();
  for (const [index, child] of wanted.entries()) {
    const there = parent.children[index] ?? null;
    if (there !== child) parent.insertBefore(child, there);
  }
}

export function setText(node: Element, text: string): void {
  if (node.textContent !== text) node.textContent = text;
}
