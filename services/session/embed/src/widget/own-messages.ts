/** A message of the person. The session's events hold replies only, so that the browser has to remember these. */
export interface OwnMessage {
  clientTurnId: string;
  text: string;
  /** `sending` until the server has stored it. */
  state: 'sending' | 'sent' | 'failed';
}

/** `sessionStorage`, as far as it is used. */
export type Store = Pick<Storage, 'getItem' | 'setItem'>;
/** A `BroadcastChannel`, as far as it is used. */
export interface Channel {
  postMessage: (message: unknown) => void;
  addEventListener: (type: 'message', listener: (event: { data: unknown }) => void) => void;
  close: () => void;
}

export interface OwnMessagesOptions {
  /** Distinguishes the session from others on the page's origin. */
  name: string;
  /** Undefined where the browser denies it: a reload then shows placeholders. */
  store: Store | undefined;
  channel: Channel | undefined;
  /** Called with a message that another tab has sent or knew of. */
  onMessage: (message: OwnMessage) => void;
}

const maxKept = 500;

/**
 * The person's own messages of a session: kept by the tab until it is closed, so that a reload shows them, and shared with the other tabs of the
 * session while they are open. Nothing of it outlives the tabs.
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

  /** What other tabs may show: they cannot repeat a message that this one failed to send. */
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
    // A reload has cut what was being sent; it may have arrived, and repeating it is safe.
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
