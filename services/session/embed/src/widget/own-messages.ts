/** A message of the person. Events of a session contain replies only, so the browser has to remember messages itself. */
export interface OwnMessage {
  clientTurnId: string;
  text: string;
  /** `sending` until the server has stored the message (`sent`) or the request has failed (`failed`). */
  state: 'sending' | 'sent' | 'failed';
}

/** The part of `sessionStorage` that the widget uses. */
export type Store = Pick<Storage, 'getItem' | 'setItem'>;
/** The part of `BroadcastChannel` that the widget uses. */
export interface Channel {
  postMessage: (message: unknown) => void;
  addEventListener: (type: 'message', listener: (event: { data: unknown }) => void) => void;
  close: () => void;
}

export interface OwnMessagesOptions {
  /** Identifies the session among all sessions on the page's origin. */
  name: string;
  /** Undefined if the browser denies storage. After a reload, placeholders then replace the messages. */
  store: Store | undefined;
  channel: Channel | undefined;
  /** Called with each message that another tab shares. */
  onMessage: (message: OwnMessage) => void;
}

const maxKept = 500;

/**
 * Stores the messages that the person sent in a session. A tab keeps them until it is closed, so they survive a reload. It shares them with
 * the other open tabs of the session.
 */
export function ownMessages({ name, store, channel, onMessage }: OwnMessagesOptions) {
  const key = `parley-chat:${name}`;
  const known = new Map<string, OwnMessage>(read(store, key).map((message) => [message.clientTurnId, message]));

  function save(): void {
    try {
      store?.setItem(key, JSON.stringify([...known.values()].slice(-maxKept)));
    } catch {
      // The browser's storage is full. A reload loses the messages that are not stored.
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

  /** Returns the messages to share. Failed messages are not shared, because another tab cannot retry them. */
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
    // The reload aborted the requests of messages that were `sending`. The server may have stored these messages, but a retry does not
    // store them again.
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
