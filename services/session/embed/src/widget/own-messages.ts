/** A message of the person. Events of a session contain replies only, so the browser has to remember messages itself. */
export interface OwnMessage {
  clientTurnId: string;
  text: string;
  /** `sending` until the server has stored it. */
  state: 'sending' | 'sent' | 'failed';
}

/** The part of `sessionStorage` that is used. */
export type Store = Pick<Storage, 'getItem' | 'setItem'>;
/** The part of `BroadcastChannel` that is used. */
export interface Channel {
  postMessage: (message: unknown) => void;
  addEventListener: (type: 'message', listener: (event: { data: unknown }) => void) => void;
  close: () => void;
}

export interface OwnMessagesOptions {
  /** Unique among the sessions on the page's origin. */
  name: string;
  /** Undefined where the browser denies storage; then a reload shows placeholders. */
  store: Store | undefined;
  channel: Channel | undefined;
  /** Called with each message that another tab shares. */
  onMessage: (message: OwnMessage) => void;
}

const maxKept = 500;

/**
 * Stores the person's own messages in a session. Each tab keeps them until the tab is closed, so that they survive a
 * reload, and shares them with other open tabs of the session.
 */
export function ownMessages({ name, store, channel, onMessage }: OwnMessagesOptions) {
  const key = `parley-chat:${name}`;
  const known = new Map<string, OwnMessage>(read(store, key).map((message) => [message.clientTurnId, message]));

  function save(): void {
    try {
      store?.setItem(key, JSON.stringify([...known.values()].slice(-maxKept)));
    } catch {
      // The browser's storage is full.
    }
  }

  function learn(messages: OwnMessage[]): void {
    for (const message of messages) {
      if (known.get(message.clientTurnId)?.state === message.state) continue;
      known.set(message.clientTurnId, message);
      onMessage(message);
    }
    save();
  }

  if (channel) {
    channel.addEventListener('message', ({ data }) => {
      const { ask, messages } = (data ?? {}) as { ask?: unknown; messages?: unknown };
      if (ask === true) channel.postMessage({ messages: sent() });
      else learn(readMessages(messages));
    });
    channel.postMessage({ ask: true });
  }

  /** Returns the messages to share. Failed ones are not, because another tab cannot retry them. */
  function sent(): OwnMessage[] {
    return [...known.values()].filter(({ state }) => state === 'sent');
  }

  return {
    list: () => [...known.values()],
    get: (clientTurnId: string | null) => (clientTurnId === null ? undefined : known.get(clientTurnId)),
    put(message: OwnMessage): void {
      known.set(message.clientTurnId, message);
      save();
      if (message.state === 'sent') channel?.postMessage({ messages: [message] });
    },
    close: () => channel?.close(),
  };
}

export type OwnMessages = ReturnType<typeof ownMessages>;

function read(store: Store | undefined, key: string): OwnMessage[] {
  try {
    const messages = readMessages(JSON.parse(store?.getItem(key) ?? '[]'));
    // A reload aborted these requests. The messages may have arrived, but a retry is safe.
    return messages.map((message) => (message.state === 'sending' ? { ...message, state: 'failed' } : message));
  } catch {
    return [];
  }
}

function readMessages(value: unknown): OwnMessage[] {
  return Array.isArray(value) ? value.filter(isMessage) : [];
}

function isMessage(value: unknown): value is OwnMessage {
  const { clientTurnId, text, state } = (value ?? {}) as Partial<Record<keyof OwnMessage, unknown>>;
  const isState = state === 'sending' || state === 'sent' || state === 'failed';
  return typeof clientTurnId === 'string' && typeof text === 'string' && isState;
}
