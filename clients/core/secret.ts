/** A licence token as hosts store it. */
export interface Secret {
  token: string;
  origin: string; // for which the user entered it
}

/** Makes the secret for a token that the user enters while baseUrl is set. */
export const secretFor = (token: string, baseUrl: string): Secret => ({ token, origin: new URL(baseUrl).origin });

/** Returns the token, if it was entered for the origin of baseUrl: it goes nowhere else. */
export const tokenFor = (secret: Secret | undefined, baseUrl: string): string | undefined =>
  secret?.origin === new URL(baseUrl).origin ? secret.token : undefined;
