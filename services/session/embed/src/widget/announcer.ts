import { element } from './dom.ts';

/** A live region for screen readers: announces each finished reply once, instead of every piece of it. */
export function announcer() {
  const node = element('div', { class: 'unseen', 'aria-live': 'polite' });
  return {
    node,
    say(text: string): void {
      // Screen readers announce added nodes only. The previous text stays until then, so that two announcements in a row are both heard.
      while (node.childElementCount > 1) node.firstElementChild?.remove();
      node.append(element('p', { dir: 'auto' }, text));
    },
  };
}
