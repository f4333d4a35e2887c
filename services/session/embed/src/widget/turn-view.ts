import type { Citation, ToolCall } from '../events.ts';
import type { Turn } from '../transcript.ts';
import { button, element, icon, placeChildren } from './dom.ts';
import { fill, type Labels } from './labels.ts';
import { shownText } from './markdown.ts';
import type { OwnMessage } from './own-messages.ts';
import { richText } from './rich-text.ts';
import { structuredView } from './structured-view.ts';
import type { Reader } from './voice/reader.ts';
import { spokenPieces } from './voice/spoken-text.ts';

export interface TurnViewOptions {
  labels: Labels;
  agentName: string;
  /** Sends a new message: the value of a card's button, or once more the text of a message whose turn failed. */
  onSend: (text: string) => void;
  /** Retries a message whose request failed. */
  onRepeat: (message: OwnMessage) => void;
  /** Reads replies aloud; undefined without a voice service. */
  reader: Reader | undefined;
}

/** The content of a turn: the person's message, if there is one, and the reply or failure. */
export interface TurnContent {
  message: OwnMessage | undefined;
  turn: Turn | undefined;
  /** Whether this is the last turn. Only the last turn offers a retry. */
  isLast: boolean;
  isActive: boolean;
}

export type TurnView = ReturnType<typeof turnView>;

/** Creates the node of a turn. `update` changes the node in place. */
export function turnView({ labels, agentName, onSend, onRepeat, reader }: TurnViewOptions) {
  const node = element('div', { class: 'turn' });
  const own = element('div', { class: 'message own' });
  const reply = element('div', { class: 'message reply' });
  const says = element('span', { class: 'unseen' }, `${agentName}: `);
  const text = richText(labels);
  const typing = element('div', { class: 'typing' }, element('i'), element('i'), element('i'));
  const typingLabel = element('span', { class: 'unseen' }, fill(labels.replying, { agent: agentName }));
  typing.append(typingLabel);
  const interrupted = element('p', { class: 'muted note' }, labels.interrupted);
  const tools = element('ul', { class: 'tools' });
  const toolItems = new Map<string, { item: HTMLElement; call: ToolCall }>();
  const failure = element('div', { class: 'failure' });
  const sources = element('details', { class: 'sources' });
  const listen = readButton(labels, reader);
  let structured: HTMLElement | undefined;
  let isFinished = false;
  let shownMessage = '';
  let shownFailure = '';

  function showOwn({ message, turn, isActive }: TurnContent): Element | undefined {
    if (turn?.isGreeting) return undefined;
    const state = turn && message?.state !== undefined ? 'sent' : message?.state;
    const key = JSON.stringify([message?.text, state, isActive]);
    if (key === shownMessage) return own;
    shownMessage = key;
    own.classList.toggle('unknown', !message);
    own.classList.toggle('pending', state === 'sending');
    const shown = shownText(message?.text ?? labels.unknownMessage);
    own.replaceChildren(
      element('span', { class: 'unseen' }, `${labels.you}: `),
      element('p', { class: 'lines', dir: 'auto' }, shown),
    );
    if (message && state === 'failed') {
      const note = element('p', { class: 'failure' }, `${labels.notSent} `);
      if (isActive) note.append(button('link', labels.retry, () => onRepeat(message)));
      own.append(note);
    }
    return own;
  }

  function showTools(calls: ToolCall[]): Element | undefined {
    if (calls.length === 0) return undefined;
    const ids = calls.map(({ callId }) => callId);
    for (const id of toolItems.keys()) if (!ids.includes(id)) toolItems.delete(id);
    const nodes = calls.map((call) => {
      const known = toolItems.get(call.callId);
      const item = known?.item ?? element('li');
      if (known?.call !== call) {
        item.className = `tool ${call.callStatus.toLowerCase()}`;
        item.replaceChildren(element('span', { dir: 'auto' }, ...toolNodes(call, labels)));
        toolItems.set(call.callId, { item, call });
      }
      return item;
    });
    placeChildren(tools, nodes);
    return tools;
  }

  function showFailure({ turn, message, isLast, isActive }: TurnContent): Element | undefined {
    if (!turn?.failure) return undefined;
    const canRetry = message !== undefined && isLast && isActive;
    const key = JSON.stringify([turn.failure, canRetry]);
    if (key !== shownFailure) {
      shownFailure = key;
      failure.replaceChildren(
        element('p', { dir: 'auto' }, `${labels.turnFailed} ${shownText(turn.failure.message)}`),
        ...(canRetry ? [button('choice', labels.retry, () => onSend(message.text))] : []),
      );
    }
    return failure;
  }

  /** Adds the parts of a finished reply. Runs once, since a finished reply does not change. */
  function finish(turn: Turn): void {
    if (isFinished || turn.state === 'streaming') return;
    isFinished = true;
    structured = structuredView(turn.structuredContent, labels, onSend);
    if (turn.citations.length > 0) {
      const cited = turn.citations.map(citationView);
      sources.append(element('summary', {}, `${labels.sources} (${cited.length})`), element('ol', {}, ...cited));
    }
  }

  return {
    node,
    update(content: TurnContent): void {
      const { turn } = content;
      const parts: (Element | undefined)[] = [showOwn(content)];
      if (turn) {
        finish(turn);
        text.show(turn.text);
        const isStreaming = turn.state === 'streaming' && content.isActive;
        placeChildren(
          reply,
          [
            says,
            showTools(turn.toolCalls),
            turn.text === '' ? undefined : text.node,
            isStreaming && turn.text === '' ? typing : undefined,
            structured,
            turn.state === 'interrupted' ? interrupted : undefined,
            listen?.update(turn),
            turn.citations.length > 0 ? sources : undefined,
          ].filter((part) => part !== undefined),
        );
        reply.setAttribute('aria-busy', String(isStreaming));
        parts.push(reply.children.length > 1 ? reply : undefined, showFailure(content));
      } else if (content.message?.state === 'sent' && content.isActive) {
        placeChildren(reply, [says, typing]);
        parts.push(reply);
      }
      placeChildren(
        node,
        parts.filter((part) => part !== undefined),
      );
    },
  };
}

const speaker =
  'M4 9v6h4l5 5V4L8 9zm11.5 3a4 4 0 0 0-2-3.4v6.9a4 4 0 0 0 2-3.5zm-2-8v2.1a6 6 0 0 1 0 11.8V20a8 8 0 0 0 0-16z';
const square = 'M7 7h10v10H7z';

/**
 * Creates a button that starts and stops reading a reply aloud. The button is hidden until the reply is finished, and if the reply has no
 * words.
 */
function readButton(labels: Labels, reader: Reader | undefined) {
  if (!reader) return undefined;
  let turn: Turn | undefined;
  let hasWords: boolean | undefined;
  const node = button('read', '', () => turn && void reader.toggle(turn.key, turn.text));
  let shown: string | undefined;
  return {
    update(current: Turn): Element | undefined {
      turn = current;
      if (turn.state === 'streaming') return undefined;
      hasWords ??= spokenPieces(turn.text).length > 0;
      const state = reader.stateOf(turn.key) ?? 'silent';
      if (state !== shown) {
        shown = state;
        const label = state === 'silent' ? labels.readAloud : labels.stopReading;
        node.replaceChildren(icon(state === 'silent' ? speaker : square), element('span', {}, label));
        node.setAttribute('aria-busy', String(state === 'loading'));
      }
      return hasWords ? node : undefined;
    },
  };
}

/** Renders a tool call. The text direction of the label does not affect the tool's name and the duration. */
function toolNodes({ name, callStatus, durationMs }: ToolCall, labels: Labels): (Node | string)[] {
  const label = {
    STARTED: labels.toolRunning,
    SUCCEEDED: labels.toolDone,
    FAILED: labels.toolFailed,
    CANCELLED: labels.toolCancelled,
  }[callStatus];
  const [before = '', after = ''] = label.split('{name}');
  const nodes = [before, element('bdi', {}, shownText(name)), after];
  if (typeof durationMs !== 'number' || durationMs < 100) return nodes;
  const seconds = fill(labels.seconds, { seconds: (durationMs / 1_000).toFixed(1) });
  return [...nodes, ' · ', element('bdi', {}, seconds)];
}

function citationView({ documentName, preview }: Citation): HTMLElement {
  return element(
    'li',
    {},
    element('bdi', { class: 'card-title' }, shownText(documentName)),
    element('p', { class: 'muted lines', dir: 'auto' }, shownText(preview)),
  );
}
