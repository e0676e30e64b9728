"""Start the dashboard from a checkout: `streamlit run app.py`. `advisor app` does the same from anywhere."""

from advisor.dashboard.page import main

main()
