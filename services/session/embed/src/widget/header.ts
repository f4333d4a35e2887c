import type { State } from '../client.ts';
import { button, element, setText } from './dom.ts';
import type { Labels } from './labels.ts';

export interface HeaderOptions {
  labels: Labels;
  agentName: string;
  onEnd: () => void;
}

/** Creates the header: the agent's name, the state of the connection, and a button that ends the conversation after a confirmation. */
export function header({ labels, agentName, onEnd }: HeaderOptions) {
  const [initial = ''] = new Intl.Segmenter().segment(agentName.trim());
  const status = element('div', { class: 'status', role: 'status' });
  const end = button('end', labels.end, () => ask(true));
  end.setAttribute('aria-label', labels.endLong);
  const keep = button('', labels.endCancel, () => ask(false));
  const confirm = element(
    'div',
    { class: 'confirm', role: 'group', 'aria-label': labels.endQuestion, hidden: true },
    element('span', {}, labels.endQuestion),
    keep,
    button('danger', labels.endConfirm, () => {
      ask(false);
      onEnd();
    }),
  );
  confirm.addEventListener('keydown', ({ key }) => key === 'Escape' && ask(false));
  const node = element(
    'div',
    { class: 'header' },
    element('div', { class: 'avatar', 'aria-hidden': 'true' }, initial === '' ? '' : initial.segment.toUpperCase()),
    element('div', { class: 'who' }, element('div', { class: 'name' }, element('bdi', {}, agentName)), status),
    end,
    confirm,
  );

  function ask(isAsked: boolean): void {
    confirm.hidden = !isAsked;
    end.hidden = isAsked;
    (isAsked ? keep : end).focus();
  }

  return {
    node,
    update({ name }: State): void {
      status.className = `status ${name}`;
      const text = {
        connecting: labels.connecting,
        open: labels.online,
        reconnecting: labels.reconnecting,
        ended: labels.ended,
        closed: labels.ended,
        failed: labels.failed,
      }[name];
      setText(status, text);
      if (name === 'ended' || name === 'failed') end.hidden = confirm.hidden = true;
    },
  };
}
