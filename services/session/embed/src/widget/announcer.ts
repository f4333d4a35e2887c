import { element } from './dom.ts';

/** Creates a live region for screen readers. It announces each finished reply once, rather than every piece. */
export function announcer() {
  const node = element('div', { class: 'unseen', 'aria-live': 'polite' });
  return {
    node,
    say(text: string): void {
      // Screen readers announce added nodes only. The previous text stays until the next announcement, so that two
      // announcements in a row are both heard.
      while (node.childElementCount > 1) node.firstElementChild?.remove();
      node.append(element('p', { dir: 'auto' }, text));
    },
  };
}
