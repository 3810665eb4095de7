"""Placeholder."""


def main():
    print("placeholder")


if __name__ == "__main__":
    main()
