import type { Speech, SpeechEncoding } from '../speech.ts';

/** A text for the eSpeak NG process. */
export interface SpeechTask {
  ssml: string;
  voiceName: string;
  languageCode: string;
  speakingRate: number;
  audioEncoding: SpeechEncoding;
  /** Maximum bytes of audio before encoding; more is `tooLong`. */
  maxPcmBytes: number;
}

/** `noVoice`: neither the voice nor another one for its language exists. `tooLong`: the audio exceeds the limit. */
export type SpeechTaskAnswer = Speech | { problem: 'noVoice' | 'tooLong' };
