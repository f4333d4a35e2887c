import { button, element, icon } from './dom.ts';
import { fill, type Labels } from './labels.ts';
import type { Microphone } from './voice/microphone.ts';

export interface ComposerOptions {
  labels: Labels;
  /** The microphone button, if the voice service can transcribe. */
  microphone: Microphone | undefined;
  onSend: (text: string) => void;
  onStop: () => void;
}

/** Maximum length of a message in Unicode code points, as in the API. */
const maxLength = 10_000;

const arrow = 'M3.4 20.4 21.5 12 3.4 3.6l-.1 6.6L15 12 3.3 13.8z';
const square = 'M7 7h10v10H7z';

/** Creates the person's input. Enter sends, Shift+Enter inserts a new line, Escape interrupts the reply. */
export function composer({ labels, microphone, onSend, onStop }: ComposerOptions) {
  const input = element('textarea', {
    rows: '1',
    'aria-label': labels.message,
    placeholder: labels.placeholder,
    enterkeyhint: 'send',
    autocomplete: 'off',
  });
  const alert = element('p', { class: 'alert', role: 'alert' });
  const send = element('button', { class: 'round primary flip-in', type: 'submit', 'aria-label': labels.send });
  const arrowIcon = icon(arrow);
  arrowIcon.classList.add('flip');
  send.append(arrowIcon);
  const stop = button('round', icon(square), onStop);
  stop.setAttribute('aria-label', labels.stop);
  const form = element('form', { novalidate: true }, input, microphone?.button, stop, send);
  const over = element('p', { class: 'over' });
  const node = element('div', { class: 'foot' }, alert, microphone?.line, form, over);

  function submit(): void {
    const text = input.value.trim();
    const excess = Array.from(text).length - maxLength;
    alert.textContent = excess > 0 ? fill(labels.tooLong, { count: excess }) : '';
    if (text === '' || excess > 0) return;
    input.value = '';
    resize();
    onSend(text);
    input.focus();
  }

  /**
   * Sets the input's text direction to that of its text, or of the page if the input is empty. In browsers without `field-sizing`, also
   * sets the input's height to that of its text.
   */
  function resize(): void {
    input.dir = input.value === '' ? '' : 'auto';
    if (CSS.supports('field-sizing', 'content')) return;
    input.style.blockSize = 'auto';
    input.style.blockSize = `${input.scrollHeight + 2}px`;
  }

  form.addEventListener('submit', (event) => {
    event.preventDefault();
    submit();
  });
  input.addEventListener('input', resize);
  node.addEventListener(
    'keydown',
    (event) => {
      if (event.key !== 'Escape' || event.isComposing || !microphone?.isWorking) return;
      event.stopPropagation();
      microphone.cancel(true);
    },
    { capture: true },
  );
  input.addEventListener('keydown', (event) => {
    if (event.isComposing) return; // this Enter accepts a suggestion of the input method
    if (event.key === 'Enter' && !event.shiftKey) {
      event.preventDefault();
      submit();
    } else if (event.key === 'Escape' && !stop.hidden) onStop();
  });

  return {
    node,
    input,
    /** Shows a warning until the person sends the next message. */
    warn(text: string): void {
      alert.textContent = text;
    },
    /**
     * Shows whether the agent replies and whether the person can send.
     * @param overText the reason why the person can send nothing more; undefined while sending is possible
     */
    update({ isReplying, overText }: { isReplying: boolean; overText: string | undefined }): void {
      if (!isReplying && form.getRootNode() instanceof ShadowRoot) keepFocus(stop, input);
      stop.hidden = !isReplying;
      form.hidden = overText !== undefined;
      over.hidden = overText === undefined;
      over.textContent = overText ?? '';
      if (overText === undefined) return;
      alert.textContent = '';
      microphone?.cancel();
    },
  };
}

/** Moves the focus away from a button that is about to disappear. */
function keepFocus(from: HTMLElement, to: HTMLElement): void {
  const root = from.getRootNode();
  if (root instanceof ShadowRoot && root.activeElement === from) to.focus();
}
