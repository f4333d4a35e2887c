/** The OpenAPI document, served at `/openapi.json`. */

const error = (description: string) => ({
  description,
  content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
});

const json = (schema: object, description: string) => ({
  description,
  content: { 'application/json': { schema } },
});

const refusals = {
  400: error('The request is refused; the message names what is wrong'),
  401: error('The token is missing, invalid or expired'),
  413: error('The body is too large'),
  415: error('The body is not application/json'),
  429: error(
    'Too many requests, or too many bytes of bodies and unread answers, of this tenant or address; `Retry-After` says when to try again',
  ),
  500: error('Something went wrong on our side'),
  503: error('A provider is not available, or all requests together hold too much memory; retryable'),
};

const body = (schema: object, required = true) => ({ required, content: { 'application/json': { schema } } });

const post = (summary: string, request: object, answer: object, more: object = {}, isBodyRequired = true) => ({
  post: {
    summary,
    security: [{ avatarToken: [] }],
    requestBody: body(request, isBodyRequired),
    responses: { 200: json(answer, 'Done'), ...refusals, ...more },
  },
});

const text = { type: ['string', 'null'], maxLength: 5_000 };
const ssml = {
  ...text,
  description: 'One `speak` element. It takes precedence over text. A `break` is up to 10 s, all together up to 60 s.',
};
const voiceName = { type: 'string', minLength: 1, maxLength: 200 };
const languageCode = {
  type: 'string',
  maxLength: 35,
  pattern: '^[A-Za-z]{2,8}([-_][A-Za-z0-9]{1,8})*$',
  examples: ['en-US'],
};
const speakingRate = { type: ['number', 'null'], minimum: 0.25, maximum: 4 };
const speech = { $ref: '#/components/schemas/Speech' };

const speechRequest = {
  type: 'object',
  required: ['voiceName', 'languageCode'],
  properties: {
    text,
    ssml,
    voiceName,
    languageCode,
    speakingRate,
    audioEncoding: { enum: ['MP3', 'LINEAR16', null], default: 'MP3', description: 'LINEAR16 has a WAV header.' },
  },
};

export const openApi = {
  openapi: '3.1.0',
  info: {
    title: 'Parley voice',
    version: '1.0.0',
    description: 'Speech, transcription, sessions of hosted video avatars, and the catalogue of 3D avatar models.',
  },
  servers: [{ url: '/' }],
  paths: {
    '/tts': post('Speaks a text or SSML', speechRequest, speech),
    '/tts/stream': {
      post: {
        summary: 'Speaks the same sentence by sentence, and sends the audio of the first before the others are spoken',
        description:
          'The audio is one file. Times of marks are not sent. A fault behind the first bytes resets the connection: audio whose ' +
          'connection ends without an error is complete.',
        security: [{ avatarToken: [] }],
        requestBody: body(speechRequest),
        responses: {
          200: {
            description: 'The audio, chunked',
            content: {
              'audio/mpeg': { schema: { description: 'MP3' } },
              'audio/wav': { schema: { description: 'LINEAR16: one WAV header, whose sizes are open (0xFFFFFFFF)' } },
            },
          },
          ...refusals,
        },
      },
    },
    '/tts/google': post(
      'The same by the request of Google Cloud Text-to-Speech; other fields are ignored',
      {
        type: 'object',
        required: ['input', 'voice'],
        properties: {
          input: { type: 'object', properties: { text, ssml } },
          voice: {
            type: 'object',
            required: ['languageCode', 'name'],
            properties: { languageCode, name: voiceName },
          },
          audioConfig: { type: ['object', 'null'], properties: { speakingRate } },
        },
      },
      speech,
    ),
    '/stt': post(
      'Transcribes a clip of up to about 60 seconds',
      {
        type: 'object',
        required: ['audioBase64', 'audioEncoding', 'languageCode'],
        properties: {
          audioBase64: {
            type: 'string',
            minLength: 1,
            maxLength: 5_600_000,
            pattern: '^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$',
            contentEncoding: 'base64',
          },
          audioEncoding: { enum: ['MP3', 'LINEAR16', 'WEBM_OPUS', 'OGG_OPUS'] },
          languageCode,
          sampleRateHertz: {
            type: ['number', 'null'],
            minimum: 8_000,
            maximum: 48_000,
            description: 'Default: 48000 for WEBM_OPUS, else 16000.',
          },
        },
      },
      {
        type: 'object',
        required: ['transcript', 'confidence', 'languageCode'],
        properties: {
          transcript: { type: 'string' },
          confidence: { type: 'number', minimum: 0, maximum: 1, description: '0 where the provider does not say.' },
          languageCode: { type: 'string' },
        },
      },
    ),
    '/avatar-session': post(
      'Opens a session of the hosted video avatar of an agent; takes the token of a session only',
      {
        type: 'object',
        description: 'What is given has to equal the configuration of the agent.',
        properties: {
          vendorAvatarId: { type: ['string', 'null'], maxLength: 1_000 },
          vendorAvatarModel: { type: ['string', 'null'], maxLength: 1_000 },
        },
      },
      { type: 'object', required: ['sessionToken'], properties: { sessionToken: { type: 'string' } } },
      { 403: error('Not the token of a session, or not the avatar of the agent') },
      false,
    ),
    '/avatars/models': {
      get: {
        summary: 'The catalogue of 3D avatar models',
        responses: {
          200: json(
            {
              type: 'object',
              required: ['models'],
              properties: { models: { type: 'array', items: { $ref: '#/components/schemas/AvatarModel' } } },
            },
            'The models',
          ),
          503: error('There is no list yet, because its source is away; retryable'),
        },
      },
    },
    '/avatars/models/{file}': {
      get: {
        summary: 'The file of a model, whole or in part (`Range`)',
        parameters: [{ name: 'file', in: 'path', required: true, schema: { type: 'string' }, example: 'aria.glb' }],
        responses: {
          200: { description: 'The file', content: { 'model/gltf-binary': {} } },
          206: { description: 'A part of it', content: { 'model/gltf-binary': {} } },
          304: { description: 'It has not changed' },
          404: error('There is no such model'),
          416: error('The file has no such range'),
          503: error('The source of models is away; retryable'),
        },
      },
    },
    '/health': { get: { summary: 'Whether it is up', responses: { 200: { description: 'It is up' } } } },
  },
  components: {
    securitySchemes: {
      avatarToken: { type: 'http', scheme: 'bearer', description: '`avatarToken`, or that of `sdkStart`' },
    },
    schemas: {
      Error: {
        type: 'object',
        required: ['error'],
        properties: {
          error: {
            type: 'object',
            required: ['code', 'message'],
            properties: { code: { type: 'string' }, message: { type: 'string' } },
          },
        },
      },
      Speech: {
        type: 'object',
        required: ['audioContent', 'timepoints'],
        properties: {
          audioContent: { type: 'string', contentEncoding: 'base64' },
          timepoints: {
            type: 'array',
            items: {
              type: 'object',
              required: ['markName', 'timeSeconds'],
              properties: { markName: { type: 'string' }, timeSeconds: { type: 'number', minimum: 0 } },
            },
          },
        },
      },
      AvatarModel: {
        type: 'object',
        required: ['id', 'label', 'gender', 'path'],
        properties: {
          id: { type: 'string' },
          label: { type: 'string' },
          gender: { type: 'string' },
          path: { type: 'string', description: "Relative to the service's address." },
        },
      },
    },
  },
};
