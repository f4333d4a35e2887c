import { ParleyError } from '../../parley-error.ts';
import { button, element, icon, setText } from '../dom.ts';
import { fill, type Labels } from '../labels.ts';
import { type Recording, type RecordingFormat, record } from './record.ts';
import type { VoiceApi } from './voice-api.ts';

export interface MicrophoneOptions {
  labels: Labels;
  format: RecordingFormat;
  api: Pick<VoiceApi, 'transcribe'>;
  /** Called when a recording starts, so that playback stops. */
  onBegin: () => void;
  /** Called with the transcribed text. */
  onText: (text: string) => void;
  /** Shows a problem to the person. */
  onProblem: (text: string, error?: ParleyError) => void;
  /** Announces a change of the status line to screen readers. */
  announce: (text: string) => void;
}

export type Microphone = ReturnType<typeof microphone>;

/** Seconds after which a recording stops, because the voice service refuses longer clips. */
const maxSeconds = 58;
const maxBytes = 4_000_000;

const mic =
  'M12 15a3.5 3.5 0 0 0 3.5-3.5v-5a3.5 3.5 0 0 0-7 0v5A3.5 3.5 0 0 0 12 15zm6-3.5a6 6 0 0 1-12 0H4a8 8 0 0 0 7 7.9V22h2v-2.6a8 8 0 0 0 7-7.9z';
const check = 'M9.5 16.6 5 12l-1.5 1.5 6 6 12-12L20 6z';

/** Creates a button that records speech and has it transcribed, and a status line that is shown until the text has arrived. */
export function microphone(options: MicrophoneOptions) {
  const { labels, format, api, onBegin, onText, onProblem, announce } = options;
  const micIcon = icon(mic);
  const checkIcon = icon(check);
  const toggle = button('round', micIcon, () => void press());
  const what = element('span');
  const time = element('span', { class: 'muted', 'aria-hidden': 'true' });
  const discard = button('link', labels.discard, () => cancel(true));
  const line = element('div', { class: 'recording', hidden: true }, element('i'), what, time, discard);
  /** Cancels the current step: the permission prompt, the recording or the transcription. Undefined if no step is running. */
  let working: AbortController | undefined;
  let recording: Recording | undefined;
  let timer: ReturnType<typeof setInterval> | undefined;

  function show(): void {
    const isBusy = working !== undefined && !recording;
    toggle.setAttribute('aria-label', recording ? labels.stopRecording : labels.record);
    toggle.setAttribute('aria-disabled', String(isBusy)); // unlike `disabled`, this attribute lets the button keep the focus
    toggle.replaceChildren(recording ? checkIcon : micIcon);
    line.hidden = working === undefined;
    line.classList.toggle('live', recording !== undefined);
    time.hidden = !recording;
  }

  function say(text: string): void {
    setText(what, text);
    announce(text);
  }

  /** Discards the recording or transcription. @param isFocused whether the status line has the focus, which must then move to the button */
  function cancel(isFocused = false): void {
    working?.abort();
    finish();
    if (isFocused) toggle.focus();
  }

  function finish(): void {
    clearInterval(timer);
    working = recording = undefined;
    show();
  }

  async function press(): Promise<void> {
    if (recording) return recording.stop();
    if (working) return;
    const mine = new AbortController();
    working = mine;
    onBegin();
    setText(what, labels.askingMicrophone);
    show();
    try {
      recording = await record(format, mine.signal);
      say(labels.recording);
      count(recording);
      show();
      const clip = await recording.clip;
      clearInterval(timer);
      recording = undefined;
      say(labels.transcribing);
      show();
      await send(clip, mine.signal);
    } catch (error) {
      if (!mine.signal.aborted) tell(error);
    }
    if (working === mine) finish();
  }

  async function send(clip: Blob, signal: AbortSignal): Promise<void> {
    if (clip.size > maxBytes) return onProblem(labels.clipTooLong);
    const text = clip.size === 0 ? '' : await api.transcribe(clip, format.encoding, signal);
    signal.throwIfAborted();
    if (text === '') onProblem(labels.nothingHeard);
    else onText(text);
  }

  function count(current: Recording): void {
    const began = performance.now();
    const tick = () => {
      const seconds = Math.floor((performance.now() - began) / 1_000);
      setText(time, fill(labels.seconds, { seconds }));
      if (seconds >= maxSeconds) current.stop();
    };
    tick();
    timer = setInterval(tick, 500);
  }

  function tell(error: unknown): void {
    if (error instanceof ParleyError) return onProblem(`${labels.notHeard} ${error.message}`, error);
    const { name } = Object(error) as { name?: string };
    if (name === 'NotAllowedError' || name === 'SecurityError') onProblem(labels.microphoneDenied);
    else if (name === 'NotFoundError') onProblem(labels.microphoneMissing);
    else if (name === 'TimeoutError') onProblem(`${labels.notHeard} ${labels.tooSlow}`);
    else onProblem(labels.microphoneFailed);
  }

  show();
  return {
    button: toggle,
    line,
    /** Whether a step is running: the permission prompt, the recording or the transcription. Escape cancels it. */
    get isWorking() {
      return working !== undefined;
    },
    cancel,
  };
}
