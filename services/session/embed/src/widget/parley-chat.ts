import type { Ended, Session } from '../client.ts';
import { type Chat, chat } from './chat.ts';
import { type Labels, withDefaults } from './labels.ts';
import { styles } from './styles.ts';
import type { VoiceOptions } from './voice/voice-api.ts';

const voiceAttributes = ['voice-url', 'voice-name', 'voice-lang', 'voice-rate'];
const attributes = ['endpoint', 'token', 'session-id', 'agent-name', 'labels', ...voiceAttributes];

/** `<parley-chat>`: a conversation with an agent in a session that the page's server has started. README.md lists attributes and events. */
export class ParleyChat extends HTMLElement {
  static readonly observedAttributes = attributes;

  #chat: Chat | undefined;
  #labels: Partial<Labels> | undefined;
  #isStarting = false;
  readonly #root: ShadowRoot;

  constructor() {
    super();
    this.#root = this.attachShadow({ mode: 'open', delegatesFocus: false });
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(styles);
    this.#root.adoptedStyleSheets = [sheet];
  }

  /** The widget's texts. The page may set some; the others have their defaults. The attribute `labels` accepts the same texts as JSON. */
  get labels(): Labels {
    return withDefaults(this.#labels ?? this.#labelsAttribute());
  }

  set labels(labels: Partial<Labels>) {
    this.#labels = labels;
    this.#startSoon();
  }

  /** The client of the session; undefined if the element shows none. */
  get session(): Session | undefined {
    return this.#chat?.session;
  }

  /** Sends a message, as if the person had written it. */
  send(text: string): Promise<void> {
    return this.#running().send(text);
  }

  /** Interrupts the running reply. Resolves to true if a reply was running. */
  interrupt(): Promise<boolean> {
    return this.#running().stop();
  }

  /** Ends the conversation without a confirmation. */
  end(): Promise<Ended> {
    return this.#running().end();
  }

  override focus(): void {
    this.#chat?.focus();
  }

  connectedCallback(): void {
    this.#startSoon();
  }

  disconnectedCallback(): void {
    // An element that is moved within the page is disconnected and connected again in the same task, and must not stop.
    queueMicrotask(() => !this.isConnected && this.#stop());
  }

  attributeChangedCallback(_name: string, before: string | null, after: string | null): void {
    if (before !== after) this.#startSoon();
  }

  #running(): Chat {
    if (!this.#chat) throw new Error('<parley-chat> needs endpoint, token and session-id');
    return this.#chat;
  }

  /** Starts the conversation in a microtask, so that it starts only once if several attributes change together. */
  #startSoon(): void {
    if (this.#isStarting) return;
    this.#isStarting = true;
    queueMicrotask(() => {
      this.#isStarting = false;
      this.#start();
    });
  }

  #start(): void {
    const [endpoint, token, id] = ['endpoint', 'token', 'session-id'].map((name) => this.getAttribute(name));
    const sessionId = Number(id);
    this.#stop();
    if (!this.isConnected || !endpoint || !token || !Number.isInteger(sessionId) || sessionId <= 0) return;
    const { labels } = this;
    this.#chat = chat({
      endpoint,
      token,
      sessionId,
      labels,
      voice: this.#voice(),
      agentName: this.getAttribute('agent-name') || labels.agent,
      tell: (name, detail) => {
        this.dispatchEvent(new CustomEvent(`parley-${name}`, { detail, bubbles: true, composed: true }));
      },
    });
    this.#root.append(this.#chat.node);
  }

  #voice(): VoiceOptions | undefined {
    const [url, name, lang, rate] = voiceAttributes.map((attribute) => this.getAttribute(attribute));
    if (!url) return undefined;
    const language = lang || this.closest('[lang]')?.getAttribute('lang') || navigator.language;
    return { url, name: name || undefined, language, rate: Number(rate) || 1 };
  }

  #stop(): void {
    this.#chat?.close();
    this.#chat?.node.remove();
    this.#chat = undefined;
  }

  #labelsAttribute(): unknown {
    try {
      return JSON.parse(this.getAttribute('labels') ?? '{}');
    } catch {
      return undefined;
    }
  }
}

if (!customElements.get('parley-chat')) customElements.define('parley-chat', ParleyChat);
