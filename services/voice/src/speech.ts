/** How synthesised audio is encoded. LINEAR16 is 16-bit PCM with a WAV header. */
export type SpeechEncoding = 'MP3' | 'LINEAR16';

/** How audio that is transcribed is encoded. */
export type ClipEncoding = 'MP3' | 'LINEAR16' | 'WEBM_OPUS' | 'OGG_OPUS';

/** What is spoken: plain text, or SSML, which was checked to be well-formed. */
export type Utterance = { text: string } | { ssml: string };

export interface SpeechRequest {
  utterance: Utterance;
  voiceName: string;
  languageCode: string;
  /** 1 is the voice's usual rate. */
  speakingRate: number;
  audioEncoding: SpeechEncoding;
}

/** When a mark of the SSML is reached. */
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
  /** 0 to 1; 0 where the provider does not say. */
  confidence: number;
  languageCode: string;
}

/** Counts the bytes that a request holds. */
export interface Memory {
  /** @throws DomainError where there is none left */
  take(bytes: number): void;
  giveBack(bytes: number): void;
}

/** The request that a provider is asked for. */
export interface Asking {
  signal: AbortSignal;
  memory: Memory;
}

/** Makes speech, whose audio it has taken from the memory when it returns. Errors are DomainErrors that clients may see. */
export type Speaker = (request: SpeechRequest, asking: Asking) => Promise<Speech>;

/** Transcribes speech. Errors are DomainErrors that clients may see. */
export type Listener = (request: ClipRequest, asking: Asking) => Promise<Transcript>;
