/** One thing that has happened, as it travels. The names are CloudEvents'; `data` is the protobuf message of `type`. */
export interface Envelope {
  /** A UUID, the same however often the event is delivered: consumers remember it to take it once. */
  id: string;
  /** Where it is published, e.g. `session-ended`. */
  topic: string;
  /** What `data` is, in the past tense and with its version, e.g. `session.ended.v1`. */
  type: string;
  /** The service that says so. */
  source: string;
  /** The aggregate's id: events of one key keep their order. */
  key: string;
  tenantId: number;
  time: Date;
  data: Uint8Array;
  /** W3C trace context of what caused it. */
  traceparent?: string;
}
