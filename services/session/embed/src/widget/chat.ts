import { connect, type Ended, ParleyError, type Session, type SessionEvent, type State } from '../client.ts';
import { asParleyError } from '../parley-error.ts';
import { randomId } from '../random-id.ts';
import { createTranscript, type Turn } from '../transcript.ts';
import { announcer } from './announcer.ts';
import { composer } from './composer.ts';
import { button, element, placeChildren } from './dom.ts';
import { endedTranscript } from './ended-transcript.ts';
import { header } from './header.ts';
import { fill, type Labels } from './labels.ts';
import { shownText } from './markdown.ts';
import { type OwnMessage, ownMessages } from './own-messages.ts';
import { paced } from './paced.ts';
import { storedToken } from './stored-token.ts';
import { type TurnView, turnView } from './turn-view.ts';
import { microphone } from './voice/microphone.ts';
import { reader } from './voice/reader.ts';
import { recordingFormat } from './voice/record.ts';
import { type VoiceOptions, voiceApi } from './voice/voice-api.ts';

export interface ChatOptions {
  endpoint: string;
  token: string;
  sessionId: number;
  agentName: string;
  labels: Labels;
  /** The voice service, if one is configured. */
  voice: VoiceOptions | undefined;
  /** Dispatches the event `parley-<name>` to the page. */
  tell: (name: string, detail: unknown) => void;
}

export type Chat = ReturnType<typeof chat>;

const nearEndPx = 80;

/** Creates a conversation in the page: its connection, its state and its DOM nodes. */
export function chat({ endpoint, token, sessionId, labels, tell, ...given }: ChatOptions) {
  const agentName = shownText(given.agentName);
  const name = `${new URL(endpoint, location.href).href}#${sessionId}`;
  const store = sessionStore();
  const tokens = storedToken(store, name, token);
  const kept = tokens.find();
  const ending = endedTranscript(store, name);
  let transcript = createTranscript();
  const views = new Map<string, TurnView>();
  /** Turns whose replies are announced: this page started them or saw them stream. Other turns are replayed. */
  const followed = new Set<string>();
  const own = ownMessages({ name, store, channel: broadcastChannel(name), onMessage: showSoon });
  const showing = paced(show);

  const top = header({ labels, agentName, onEnd: () => void end().catch(() => undefined) });
  const voice = announcer();
  const speaking = given.voice && voiceApi(given.voice, { fetch: (...request) => session.fetch(...request) });
  const aloud =
    given.voice?.name === undefined
      ? undefined
      : speaking && reader({ api: speaking, onChange: showSoon, onError: notSpoken });
  const format = speaking && recordingFormat();
  const mic =
    speaking &&
    format &&
    microphone({
      labels,
      format,
      api: speaking,
      onBegin: () => aloud?.stop(),
      onText: (text) => void send(text),
      onProblem(text, error) {
        foot.warn(shownText(text));
        if (error) report(error);
      },
      announce: (text) => voice.say(text),
    });
  const foot = composer({ labels, microphone: mic, onSend: (text) => void send(text), onStop: () => void stop() });
  const title = fill(labels.conversation, { agent: agentName });
  const log = element('div', { class: 'log', role: 'log', 'aria-live': 'off', 'aria-label': title, tabindex: '0' });
  const jump = button('jump', labels.newMessages, () => scrollToEnd());
  jump.hidden = true;
  const node = element('section', { class: 'chat', 'aria-label': title }, top.node, log, jump, foot.node, voice.node);
  let followsEnd = true;
  log.addEventListener('scroll', () => {
    followsEnd = log.scrollHeight - log.scrollTop - log.clientHeight < nearEndPx;
    if (followsEnd) jump.hidden = true;
  });

  const session: Session = connect({
    endpoint,
    sessionId,
    token: kept?.token ?? token,
    ...(kept && { tokenExpiresInMs: kept.expiresInMs }),
    onEvent: take,
    onState(state) {
      // The server does not replay an ended session, so its transcript is kept for a reload.
      if (state.name === 'ended' && transcript.turns.length > 0) ending.put(transcript.turns);
      else if (state.name === 'ended') transcript = createTranscript(ending.find());
      showSoon();
      tell('state', state);
    },
    onToken(fresh, expiresInMs) {
      tokens.put(fresh, expiresInMs);
      tell('token', { token: fresh, expiresInMs });
    },
  });

  function take(event: SessionEvent): void {
    const turn = transcript.take(event);
    if (turn) settle(turn);
    if (turn && event.__typename === 'AiResponseEvent') {
      if (followed.has(turn.key) || followed.has(turn.clientTurnId ?? '')) {
        voice.say(`${agentName}: ${shownText(turn.text)}${event.interrupted ? ` ${labels.interrupted}` : ''}`);
      }
      tell('reply', event);
    } else if (turn?.failure && followed.has(turn.clientTurnId ?? '')) {
      voice.say(`${labels.turnFailed} ${shownText(turn.failure.message)}`);
    }
    tell('event', event);
    showSoon();
  }

  /** Marks a message as sent when its turn appears, even if the request failed. */
  function settle({ clientTurnId }: Turn): void {
    const message = own.get(clientTurnId);
    if (message && message.state !== 'sent') own.put({ ...message, state: 'sent' });
  }

  async function send(text: string, clientTurnId = randomId()): Promise<void> {
    followed.add(clientTurnId);
    own.put({ clientTurnId, text, state: 'sending' });
    followsEnd = true;
    showing.now();
    let state: OwnMessage['state'] = 'sent';
    try {
      await session.send(text, { clientTurnId, idempotencyKey: clientTurnId });
    } catch (error) {
      state = 'failed';
      report(error);
    }
    // The turn's events may have arrived before this response.
    if (own.get(clientTurnId)?.state === 'sending') own.put({ clientTurnId, text, state });
    if (state === 'failed' && own.get(clientTurnId)?.state === 'failed') voice.say(labels.notSent);
    showSoon();
  }

  function notSpoken(error: ParleyError): void {
    foot.warn(`${labels.notSpoken} ${shownText(error.message)}`);
    report(error);
  }

  async function stop(): Promise<boolean> {
    try {
      return await session.interrupt();
    } catch (error) {
      report(error);
      return false;
    }
  }

  async function end(): Promise<Ended> {
    try {
      const ended = await session.end();
      tell('ended', ended);
      return ended;
    } catch (error) {
      report(error);
      throw error;
    }
  }

  function report(error: unknown): void {
    if (error instanceof ParleyError && error.code === 'CLOSED') return;
    tell('error', asParleyError(error));
  }

  function showSoon(): void {
    showing.soon();
  }

  function show(): void {
    const { state } = session;
    const isActive = !isOver(state) && transcript.status === 'ACTIVE';
    const contents = entries();
    const nodes = contents.map(({ key, message, turn }, index) => {
      const view = views.get(key) ?? newView(key);
      view.update({ message, turn, isLast: index === contents.length - 1, isActive });
      if (turn?.state === 'streaming') followed.add(turn.key);
      return view.node;
    });
    const wasAtEnd = followsEnd;
    placeChildren(log, nodes);
    top.update(isActive || isOver(state) ? state : { name: 'ended' });
    foot.update({ isReplying: isActive && contents.some(isReplying), overText: overText(state) });
    if (wasAtEnd) scrollToEnd();
    else jump.hidden = nodes.length === 0;
    log.getBoundingClientRect(); // forces the layout now, so that its time is measured too
  }

  function overText(state: State): string | undefined {
    if (state.name === 'failed') return labels.failed;
    return state.name === 'ended' || transcript.status !== 'ACTIVE' ? labels.ended : undefined;
  }

  /** Returns the turns in order, then the messages that have no turn yet. */
  function entries(): { key: string; message: OwnMessage | undefined; turn: Turn | undefined }[] {
    const begun = transcript.turns.map((turn) => ({
      key: turn.clientTurnId ?? turn.key,
      turn,
      message: own.get(turn.clientTurnId),
    }));
    const seen = new Set(begun.map(({ key }) => key));
    const waiting = own.list().filter(({ clientTurnId }) => !seen.has(clientTurnId));
    return [...begun, ...waiting.map((message) => ({ key: message.clientTurnId, turn: undefined, message }))];
  }

  function newView(key: string): TurnView {
    const onRepeat = ({ text, clientTurnId }: OwnMessage) => void send(text, clientTurnId);
    const view = turnView({ labels, agentName, onSend: (text) => void send(text), onRepeat, reader: aloud });
    views.set(key, view);
    return view;
  }

  function scrollToEnd(): void {
    followsEnd = true;
    jump.hidden = true;
    log.scrollTop = log.scrollHeight;
  }

  showing.now();
  return {
    node,
    session,
    send,
    stop,
    end,
    focus: () => foot.input.focus(),
    close(): void {
      showing.close();
      aloud?.stop();
      mic?.cancel();
      session.close();
      own.close();
    },
  };
}

function isReplying({ turn, message }: { turn: Turn | undefined; message: OwnMessage | undefined }): boolean {
  return turn ? turn.state === 'streaming' : message?.state === 'sent';
}

function isOver({ name }: State): boolean {
  return name === 'ended' || name === 'failed' || name === 'closed';
}

/** Returns the browser's session storage; undefined where it is denied, e.g. in some private windows. */
function sessionStore(): Storage | undefined {
  try {
    return sessionStorage;
  } catch {
    return undefined;
  }
}

function broadcastChannel(name: string): BroadcastChannel | undefined {
  try {
    return new BroadcastChannel(`parley-chat:${name}`);
  } catch {
    return undefined;
  }
}
