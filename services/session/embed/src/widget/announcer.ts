import { element } from './dom.ts';

/** A region that screen readers read out: finished replies, each once, and not every piece of them. */
export function announcer() {
  const node = element('div', { class: 'unseen', 'aria-live': 'polite' });
  return {
    node,
    say(text: string): void {
      // Only what is added is read out; the one before stays until then, so that two in a row are both heard.
      while (node.childElementCount > 1) node.firstElementChild?.remove();
      node.append(element('p', { dir: 'auto' }, text));
    },
  };
}
