import type { Speech, SpeechEncoding } from '../speech.ts';

/** A text for the process that has eSpeak NG. */
export interface SpeechTask {
  ssml: string;
  voiceName: string;
  languageCode: string;
  speakingRate: number;
  audioEncoding: SpeechEncoding;
  /** More bytes of audio than that are a problem, before it is encoded. */
  maxPcmBytes: number;
}

/** `noVoice`: it has neither the voice nor one of the language. `tooLong`: the audio would be larger than allowed. */
export type SpeechTaskAnswer = Speech | { problem: 'noVoice' | 'tooLong' };
