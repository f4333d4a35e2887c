/** A recipient: an email address, or a phone number in E.164. */
export type Contact = { email: string } | { phone: string };

export interface Wording {
  subject: string;
  text: string;
  html: string;
}

export interface Message extends Wording {
  to: Contact;
}
