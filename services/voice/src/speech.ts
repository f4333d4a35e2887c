/** Encodings of synthesized audio. LINEAR16 is 16-bit PCM with a WAV header. */
export type SpeechEncoding = 'MP3' | 'LINEAR16';

/** Encodings of audio to transcribe. */
export type ClipEncoding = 'MP3' | 'LINEAR16' | 'WEBM_OPUS' | 'OGG_OPUS';

/** The input of synthesis: plain text, or well-formed SSML. */
export type Utterance = { text: string } | { ssml: string };

export interface SpeechRequest {
  utterance: Utterance;
  voiceName: string;
  languageCode: string;
  /** 1 is the voice's usual rate. */
  speakingRate: number;
  audioEncoding: SpeechEncoding;
}

/** The time of an SSML mark. */
export interface Timepoint {
  markName: string;
  timeSeconds: number;
}

export interface Speech {
  audio: Buffer;
  timepoints: Timepoint[];
}

export interface ClipRequest {
  audio: Buffer;
  audioEncoding: ClipEncoding;
  languageCode: string;
  sampleRateHertz: number;
}

export interface Transcript {
  transcript: string;
  /** From 0 to 1; 0 if the provider returns no confidence. */
  confidence: number;
  languageCode: string;
}

/** Counts the bytes that a request holds. */
export interface Memory {
  /** Reserves bytes. @throws DomainError if none remain */
  take(bytes: number): void;
  giveBack(bytes: number): void;
}

/** The client request for which a provider is called. */
export interface Asking {
  signal: AbortSignal;
  memory: Memory;
}

/** Synthesizes speech and charges its audio to the memory. Errors are DomainErrors that clients may see. */
export type Speaker = (request: SpeechRequest, asking: Asking) => Promise<Speech>;

/** Transcribes speech. Errors are DomainErrors that clients may see. */
export type Listener = (request: ClipRequest, asking: Asking) => Promise<Transcript>;
