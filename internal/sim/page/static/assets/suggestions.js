// First messages to try, by the kind of business.

const byVertical = [
  [/spa|salon|barber|beauty|booking/i, [
    { lang: "en", text: "Hi, I'd like a 90 minute massage tomorrow afternoon" },
    { lang: "sw", text: "Habari, nataka massage kesho saa tisa" },
  ]],
  [/letting|propert|maintenance|repair/i, [
    { lang: "en", text: "Hi, the kitchen tap is leaking" },
    { lang: "sw", text: "Habari, bomba la jikoni linavuja" },
  ]],
  [/lawn|garden|landscap|procedure/i, [
    { lang: "en", text: "Hi, can you mow my lawn on Friday?" },
    { lang: "sw", text: "Habari, naomba mnikatie nyasi siku ya Ijumaa" },
  ]],
];

const others = [
  { lang: "en", text: "Hi, what do you offer?" },
  { lang: "sw", text: "Habari, mnatoa huduma gani?" },
];

// suggestions returns what a customer of tenant might write first.
export function suggestions(tenant) {
  const kind = `${tenant?.vertical ?? ""} ${tenant?.slug ?? ""}`;
  return byVertical.find(([pattern]) => pattern.test(kind))?.[1] ?? others;
}
